// Package compat is how a program built from this tree and one built from an earlier commit are made
// to share keys: `make compat`. Both are built from the one source in peer, which uses what the
// exported API has in both trees. The tests drive them over their standard input and output, each
// once in either place: the old one holds and the new one waits, and the other way round.
package compat

import "time"

// Base is the commit that the tree is held against: the one before which no process needs to be
// stopped when a new version is rolled out. It goes forward with a change that is not compatible,
// which then stands in the changelog.
const Base = "13447e3702d0dcb8d86817785511eea7155982f3"

// The operations of a peer.
const (
	Obtain    = "obtain"    // the keys, as Lock
	Attach    = "attach"    // to keys held under Token, as Lock
	Refresh   = "refresh"   // Lock, for TTL
	Renewed   = "ttl"       // what Lock has left
	Downgrade = "downgrade" // Lock
	Upgrade   = "upgrade"   // Lock
	Raise     = "raise"     // the fencing number of Lock to Fence
	Part      = "part"      // releases the keys Write of Lock
	Release   = "release"   // Lock
	Leave     = "leave"     // Lock, for TTL; of the tree alone
	Lost      = "lost"      // waits until Lock is lost
	Cancel    = "cancel"    // ends the context of the request Number
	Inspect   = "inspect"   // the one key Write
	Break     = "break"     // the keys Write; of the tree alone
	Lose      = "lose"      // from now on loses the reply to the next script that the peer runs
	Hold      = "hold"      // keeps the next script back, which then seems to have failed
	Late      = "late"      // sends the script that was kept back, and says in Metadata what came
)

// A Request is one line that a peer is sent.
type Request struct {
	ID   int
	Op   string
	Lock string // the name by which the peer knows it

	Write, Read []string
	TTL         time.Duration
	Poll        time.Duration // asks again as often; 0: asks once
	Queue       bool
	Watchdog    bool
	Intent      bool
	Fenced      bool
	Token       string
	Secret      bool // the peer does not ask its lock for the token
	Metadata    string

	Fence  int64
	Number int
}

// A Reply is one line that a peer says when a request has ended.
type Reply struct {
	ID    int
	Error string // empty: it was done
	Is    string // which error it is: one of those below, or empty

	Token string
	Fence int64
	TTL   time.Duration

	// Of a conflict, or of Inspect.
	Key, Mode, Metadata string
	Left                bool      // says the tree
	Since               time.Time // of the first holder; says the tree
	Waiters             int
	Broken              int // owners
}

// The errors of a Reply.
const (
	NotObtained = "not obtained"
	NotHeld     = "not held"
	Unknown     = "unknown"
	Cancelled   = "cancelled"
)
