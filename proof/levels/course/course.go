// Package course is what the program levels and its workers agree on: the kinds of operation, and the lines that they
// exchange.
package course

import (
	"slices"
	"time"
)

// An Act is what is done again and again.
type Act string

// The acts that there are.
const (
	Turn    Act = "turn"    // one Obtain, and its Release
	With    Act = "with"    // one With, whose function does nothing
	Refused Act = "refused" // one attempt at a key that somebody else holds
	Least   Act = "least"   // the same by the least script that gives the same reply
	Refresh Act = "refresh" // one Refresh of a lock
	Renew   Act = "renew"   // one renewal by the watchdog
	Raw     Act = "raw"     // SET NX PX, and a script that compares and deletes, by go-redis alone
	BSM     Act = "bsm"     // one Obtain of bsm/redislock, and its Release
)

// A Place is where the worker and its server run.
type Place string

// The places that there are.
const (
	One    Place = ""       // both on one processor
	Many   Place = "many"   // on all processors
	Memory Place = "memory" // the server is inside of the worker: see package memory
)

// A Figure is what a limit is about.
type Figure string

// The figures that limits are about.
const (
	Server Figure = "server CPU"
	Client Figure = "client CPU"
	Both   Figure = "CPU of both" // on one processor that is the time which an operation takes
	Time   Figure = "time"        // by the clock
)

// A Kind is a kind of operation.
type Kind struct {
	Name    string
	Act     Act
	Place   Place
	Keys    int  // of the set
	Callers int  // who want the same set, each again and again
	Each    bool // each of them wants a set of its own
	Queue   bool // they stand in line
	Fenced  bool // each lock has a number
	Reads   int  // how many of the callers read
	Ends    bool // the context of a call can end
	Ops     int  // of a block, a multiple of Callers
	Seldom  bool // it has a block in every other round, because its blocks last long
	Limits  []Limit
	Is      Beside // limits of other kinds may refer to it by this name; empty: none does
}

// A Limit says what a figure may be at most, by that of something else.
type Limit struct {
	Of     Figure
	Most   float64
	Beside Beside
}

// Beside is what a limit refers to: the same kind in the version that is called old, or another kind in the tree.
type Beside string

// What limits refer to.
const (
	Old     Beside = "old"
	Script  Beside = "the least script"
	NoEnd   Beside = "a context without an end"
	Peer    Beside = "bsm/redislock"
	RawFew  Beside = "go-redis alone, 64 at once"
	RawMany Beside = "go-redis alone, 512 at once"
)

// Kind returns the kind in the tree that a limit refers to, as an index. There is none for Old.
func (b Beside) Kind() (int, bool) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Is == b })
	return i, b != "" && i >= 0
}

// Main is the figure that is shown first.
func (k Kind) Main() Figure {
	switch k.Place {
	case Memory:
		return Client
	case Many:
		return Time
	default:
		return Server
	}
}

// IsOurs reports whether the library does the work, so that versions of it may differ.
func (k Kind) IsOurs() bool { return k.Act != Least && k.Act != Raw && k.Act != BSM }

// An Order asks a worker for a block.
type Order struct {
	Kind int // index
	Ops  int
	// Profile is a file for a profile of what the processor does meanwhile; empty: there is none.
	Profile string `json:",omitempty"`
}

// A Usage is what the operations of a block have used.
type Usage struct {
	Ops      int
	Server   time.Duration // processor time of the server
	Client   time.Duration // processor time of the worker
	Wall     time.Duration // by the clock; no counter
	Allocs   int           // of the worker
	Heap     int           // bytes that the worker has allocated
	Bytes    int           // that the server has received and sent
	Commands int           // on the server, also those inside of scripts, without the calls of scripts
	Failed   string        `json:",omitempty"` // why there is no block; empty if there is one
}

// Failure is why there is no block.
func (u Usage) Failure() string { return u.Failed }

// Less is what was used since before.
func (u Usage) Less(before Usage) Usage {
	u.Server -= before.Server
	u.Client -= before.Client
	u.Allocs -= before.Allocs
	u.Heap -= before.Heap
	u.Bytes -= before.Bytes
	u.Commands -= before.Commands
	return u
}
