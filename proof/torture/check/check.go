// Package check looks for what a history says against the promises of the library.
//
// A checker must never complain about a history that the promises allow: it takes every doubt for the library. What it may
// doubt is how long something took on its way, never what the library has said.
package check

import (
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A Promise is what a checker looks after. Faults name the promises that they may break, see package world: a promise that a
// fault of the round may break is not checked in that round.
type Promise string

// The promises there are.
const (
	Exclusion Promise = "exclusion" // windows of conflicting locks never overlap
	Linear    Promise = "linear"    // what was answered fits one order of all operations, where no lease ends
	Fencing   Promise = "fencing"   // numbers grow from lock to lock, and the resource takes no older one
	Order     Promise = "order"     // whoever stood in line first comes first
	Handover  Promise = "handover"  // whoever stands in line has a key soon after it is free
	Prompt    Promise = "prompt"    // whoever can go next has the lock at once
	Losses    Promise = "losses"    // a holder is told of the end of its lock no later than its deadline
	Progress  Promise = "progress"  // after the last fault everybody who waits gets the lock, or an error, in time
	Clean     Promise = "clean"     // nothing is left in the servers
	Answers   Promise = "answers"   // one error for one fact: no unexpected error, nothing held without a lock that says so
)

// Bounds are the times that checkers allow for.
type Bounds struct {
	Late     time.Duration // for which a process that runs may be late to say something
	Progress time.Duration // from Settled until all that wait have an answer
	Shift    time.Duration // by which the clock of a server is set ahead or back at most
	Endless  bool          // no lease ends in this round: what the linear checker needs
}

// A Finding is one breach of a promise.
type Finding struct {
	Promise Promise
	Text    string          // one sentence: what was promised, and what happened
	Events  []history.Event // that show it, the earliest first
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s", f.Promise, f.Text) }

// A Checker looks after one promise. Check returns what it has found, and how many things it has looked at: windows, pairs,
// operations. A checker that has looked at nothing has shown nothing.
type Checker struct {
	Promise Promise
	Counts  string // what looked counts, in the plural: "windows"
	Check   func(h *history.History, b Bounds) (found []Finding, looked int)
}
