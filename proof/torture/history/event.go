// Package history is what the processes of a campaign write down while they run, and how it is read afterwards.
//
// Each process appends to a file of its own, one line of JSON for each event, by one write without a buffer: what was
// written is there, however the process ends. All times of all processes are those of one clock, see [Now], because they
// run on one machine.
//
// An operation has two events, [Call] and [Return], with the same Process and Op. An operation without a Return was under
// way when its process was killed: it may have been executed, or may be executed later.
package history

import "time"

// An Event is one line of a history. What a field says of an operation stands in its Call if it was known by then, else in
// its Return; [History.Operations] puts the two together.
type Event struct {
	At      time.Duration `json:"at"`                // when it happened, see [Now]
	Kind    Kind          `json:"kind"`              //
	Process int           `json:"process"`           // from 1; the campaign itself is 0
	Client  int           `json:"client,omitempty"`  // which of the concurrent callers of the process; each makes one operation at a time
	Op      int           `json:"op,omitempty"`      // the number of the operation in its process, from 1
	Action  Action        `json:"action,omitempty"`  // of a Call and its Return
	Lock    int           `json:"lock,omitempty"`    // the Op of the Obtain (or attach) that made the lock which this is about
	Package Package       `json:"package,omitempty"` // whose lock it is

	// Call of an obtain. Refresh: TTL. Upgrade, downgrade, releaseKeys, leave, break: the keys that they are about.
	Write  []string      `json:"write,omitempty"`
	Read   []string      `json:"read,omitempty"`
	Way    Way           `json:"way,omitempty"`
	TTL    time.Duration `json:"ttl,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"` // for how long it asks at most
	Fenced bool          `json:"fenced,omitempty"`
	Token  string        `json:"token,omitempty"`  // a token of the caller's own: locks with the same one share their keys
	Owner  string        `json:"owner,omitempty"`  // of package reentrant: holds with the same one share their keys
	Kept   time.Duration `json:"kept,omitempty"`   // leave, and obtain with HoldAtLeast: for how long the keys stay taken, from the Obtain on
	PassOn time.Duration `json:"passon,omitempty"` // for how long its hold may be passed on to others of the same Client
	Local  bool          `json:"local,omitempty"`  // if it queues, it stands in the line of its Client first, behind all who want the same set

	// Return.
	Outcome Outcome       `json:"outcome,omitempty"`
	Error   string        `json:"error,omitempty"`
	Is      []string      `json:"is,omitempty"`    // which exported errors it matches, such as "ErrWaitOver"; "Cause": that of its context
	Held    string        `json:"held,omitempty"`  // a refusal: how the key was held that was in the way, such as "read" or "queue"
	InWay   string        `json:"inway,omitempty"` // a refusal: the name of that key
	Until   time.Duration `json:"until,omitempty"` // the Deadline of the lock, on the clock of the history; after obtain, refresh, upgrade and downgrade, unless it is not held
	Fence   int64         `json:"fence,omitempty"`
	Came    Came          `json:"came,omitempty"`    // how an obtain came by its lock, as far as that is seen from outside
	Watched bool          `json:"watched,omitempty"` // its loss will be told by a Lost event
	Renewed bool          `json:"renewed,omitempty"` // it has a watchdog: Until moves without an event, see Renewal

	// Fault, Healed: what was done. Stall: for how long the process did not run. Note: anything for the reader. Call of an
	// obtain: "with" if a function is to run while the lock is held.
	Name string        `json:"name,omitempty"`
	For  time.Duration `json:"for,omitempty"`
}

// A Kind says what an event is.
type Kind string

// The kinds there are.
const (
	Call    Kind = "call"    // an operation begins
	Return  Kind = "return"  // it has ended
	Waiting Kind = "waiting" // the first attempt of an obtain was refused; with Way Queue it stands in line from here on
	Renewal Kind = "renewal" // a watchdog has renewed Lock: Until is its new Deadline
	Lost    Kind = "lost"    // the holder of Lock was told that it is lost; Until is the Deadline that it had then
	Left    Kind = "left"    // the process ended by itself, with everything released that it could release

	Stall   Kind = "stall"   // the process did not run for For until At: SIGSTOP, or a busy machine
	Killed  Kind = "killed"  // process 0 says: the process whose number is in Op was killed
	Fault   Kind = "fault"   // process 0 says: the fault Name begins; Op is its number in the plan, from 1
	Healed  Kind = "healed"  // process 0 says: it is over
	Settled Kind = "settled" // process 0 says: all faults are over, everything that was running has been told to go on
	Note    Kind = "note"
)

// An Action is an operation on locks.
type Action string

// The actions there are.
const (
	Obtain      Action = "obtain"      // Write and Read are its keys
	Refresh     Action = "refresh"     //
	Upgrade     Action = "upgrade"     // Read becomes Write
	Downgrade   Action = "downgrade"   // Write becomes Read
	ReleaseKeys Action = "releasekeys" // of Write and Read
	Release     Action = "release"     // of all
	Leave       Action = "leave"       // the keys stay taken for Kept from the Call on, or for the rest of the Kept of the obtain if that is more
	Break       Action = "break"       // of Write, whoever holds them
	RaiseFence  Action = "raisefence"  //
	Attach      Action = "attach"      // to the lock whose Token it is
	Lead        Action = "lead"        // package election: from the moment of being elected to that of knowing that it is over
	Enter       Action = "enter"       // a resource that compares fencing numbers, that of the key in Write, was asked to take Fence; Refused: it has seen a greater one
	Inspect     Action = "inspect"     // who holds the keys in Write; changes nothing
	Remaining   Action = "ttl"         // of the lease, asked of the server; changes nothing
)

// A Way is how an obtain waits.
type Way string

// The ways there are.
const (
	Once   Way = "once"   // it does not
	Poll   Way = "poll"   // it asks again and again
	Intent Way = "intent" // so does a writer that keeps new readers out
	Queue  Way = "queue"  // it stands in line
)

// Came says how an obtain that queued came by its lock. It is empty if it has asked Redis, or was granted the lock in line.
type Came string

// How it came, if it did not ask.
const (
	Carried Came = "carried" // a Release of its Client has given it the keys; seen only where Metadata names the obtain
	Passed  Came = "passed"  // a Release of its Client has passed its hold on
)

// A Package is whose lock it is.
type Package string

// The packages there are.
const (
	Plain     Package = ""
	Multi     Package = "multi"
	Quorum    Package = "quorum"
	Reentrant Package = "reentrant"
	Election  Package = "election"
)

// An Outcome is how an operation has ended.
type Outcome string

// The outcomes there are.
const (
	OK      Outcome = "ok"
	Refused Outcome = "refused" // *ConflictError: somebody else holds a key, or Held says what else was in the way
	NotHeld Outcome = "notheld" // ErrLockNotHeld, ErrLockLost
	Unknown Outcome = "unknown" // ErrUnknownOutcome; any other error of release, releaseKeys and leave, which go on in the background
	Failed  Outcome = "failed"  // any other error: nothing was changed, or it is undone in the background
)
