package campaign

import (
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A Result is what one round has shown, or several.
type Result struct {
	Rounds     int
	Took       time.Duration
	Events     int
	Operations map[Ending]int
	Faults     map[string]int // that were done, by name
	Undone     map[string]int // that could not be done, by name
	Looked     map[check.Promise]int
	Checked    map[check.Promise]int // rounds in which the promise was checked
	Found      []check.Finding
	Problems   []string // of the campaign itself: nothing can be said of the library then
}

// An Ending is how operations of one kind have ended. The Outcome of those that have not is empty.
type Ending struct {
	Package history.Package
	Action  history.Action
	Outcome history.Outcome
}

func newResult() *Result {
	return &Result{
		Operations: map[Ending]int{}, Faults: map[string]int{}, Undone: map[string]int{},
		Looked: map[check.Promise]int{}, Checked: map[check.Promise]int{},
	}
}

// Failed reports whether a promise was broken.
func (r *Result) Failed() bool { return len(r.Found) > 0 }

// count takes in what the processes have done.
func (r *Result) count(h *history.History) {
	r.Events += len(h.Events)
	for _, o := range h.Operations() {
		r.Operations[Ending{o.Package, o.Action, o.Outcome}]++
	}
}

// Add adds what other rounds have shown.
func (r *Result) Add(other *Result) {
	r.Rounds += other.Rounds
	r.Took += other.Took
	r.Events += other.Events
	add(r.Operations, other.Operations)
	add(r.Faults, other.Faults)
	add(r.Undone, other.Undone)
	add(r.Looked, other.Looked)
	add(r.Checked, other.Checked)
	r.Found = append(r.Found, other.Found...)
	r.Problems = append(r.Problems, other.Problems...)
}

func add[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}

// Idle returns the promises that were looked after in no way: nothing was counted by their checkers.
func (r *Result) Idle(checkers []check.Checker) (idle []check.Promise) {
	for _, c := range checkers {
		if r.Looked[c.Promise] == 0 {
			idle = append(idle, c.Promise)
		}
	}
	return idle
}
