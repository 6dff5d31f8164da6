// Package turns counts the turns that callers have at a lock, and how long they wait for them. The tool counts with it when it
// compares ways to wait, and so do the benchmarks. It needs nothing of the library: so it counts for any version of it, and for
// other libraries.
package turns

import (
	"context"
	"errors"
	"math/bits"
	"sync"
	"time"
)

// A Caller has turns. What it had may be read meanwhile.
type Caller struct {
	// Refusal is the error of an attempt that was refused, after which the caller goes on. Nil: any error ends it.
	Refusal error

	mu  sync.Mutex
	had Had
}

// Had is what a caller, or several of them, had within some time.
type Had struct {
	Turns   int   // that it was granted
	Refused int   // attempts
	Waits   Waits // of every attempt, also those that ctx has cut short
}

// Read returns what the caller had since it was read before.
func (c *Caller) Read() (had Had) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had, c.had = c.had, had
	return had
}

// Try has a caller make one attempt to obtain a lock, and use it, which includes its release. The error is that of the use, or of
// an attempt that failed and was neither refused nor cut short by the end of ctx.
func Try[Lock any](ctx context.Context, c *Caller, obtain func(context.Context) (Lock, error), use func(Lock) error) error {
	began := time.Now()
	lock, err := obtain(ctx)
	waited := time.Since(began)
	cut := err != nil && ctx.Err() != nil
	refused := !cut && err != nil && errors.Is(err, c.Refusal)
	c.mu.Lock()
	c.had.Waits.Add(waited, cut)
	if err == nil {
		c.had.Turns++
	} else if refused {
		c.had.Refused++
	}
	c.mu.Unlock()
	if err == nil {
		return use(lock)
	}
	if cut || refused {
		return nil
	}
	return err
}

// Waits are many durations, each kept to one part in a hundred, so that those of several processes can be put together. Some
// of them were cut short: nobody knows how long they would have become. The zero value is empty.
type Waits struct {
	Ended   map[int]int   `json:"ended,omitempty"`   // how many fell into each step
	Cut     map[int]int   `json:"cut,omitempty"`     // the same for those that were cut short
	Sum     time.Duration `json:"sum,omitempty"`     // of all of them, exactly
	Most    time.Duration `json:"most,omitempty"`    // the longest one, exactly
	MostCut bool          `json:"mostCut,omitempty"` // the longest one was cut short
}

// stepOf returns the step into which a duration falls: there are 64 from each power of two to the next. What is shorter than a
// microsecond counts as one.
func stepOf(d time.Duration) int {
	n := uint64(max(d, time.Microsecond))
	power := bits.Len64(n) - 7
	return power<<6 + int(n>>power)
}

// lengthOf returns the duration in the middle of a step.
func lengthOf(step int) time.Duration {
	power := step>>6 - 1
	return time.Duration(2*(step-power<<6)+1) << power / 2
}

// Add enters a duration.
func (w *Waits) Add(d time.Duration, cut bool) {
	counts := &w.Ended
	if cut {
		counts = &w.Cut
	}
	enter(counts, stepOf(d), 1)
	w.Sum += d
	w.longest(d, cut)
}

// enter counts n more of a step.
func enter(counts *map[int]int, step, n int) {
	if *counts == nil {
		*counts = map[int]int{}
	}
	(*counts)[step] += n
}

// longest takes note of a duration that may be the longest.
func (w *Waits) longest(d time.Duration, cut bool) {
	if d > w.Most {
		w.Most, w.MostCut = d, cut
	}
}

// Join enters all of another one.
func (w *Waits) Join(other Waits) {
	for step, n := range other.Ended {
		enter(&w.Ended, step, n)
	}
	for step, n := range other.Cut {
		enter(&w.Cut, step, n)
	}
	w.Sum += other.Sum
	w.longest(other.Most, other.MostCut)
}

// Quantile returns the duration below which a share q of all lies, 0 if there are none. Those that were cut short count for as
// long as they were seen (the estimator of Kaplan and Meier). If too few of them were seen to their end the result is the
// longest of all, and a bound: the quantile is not below it.
func (w *Waits) Quantile(q float64) (d time.Duration, bound bool) {
	left := 0
	for _, counts := range []map[int]int{w.Ended, w.Cut} {
		for _, n := range counts {
			left += n
		}
	}
	if left == 0 {
		return 0, false
	}
	longer := 1. // the share that is longer than the steps so far
	for step, last := stepOf(0), stepOf(w.Most); step <= last; step++ {
		ended := w.Ended[step]
		if ended > 0 {
			longer *= 1 - float64(ended)/float64(left)
			if 1-longer >= q-1e-9 {
				return min(lengthOf(step), w.Most), false
			}
		}
		left -= ended + w.Cut[step]
	}
	return w.Most, true
}
