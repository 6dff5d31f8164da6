package measure

import (
	"math"
	"time"
)

// Waits are many durations, each kept to one part in a hundred, so that those of several processes can be put together. Some
// of them were cut short: nobody knows how long they would have become. The zero value is empty.
type Waits struct {
	Ended map[int]int   `json:"ended,omitempty"` // how many fell into each step
	Cut   map[int]int   `json:"cut,omitempty"`   // the same for those that were cut short
	Sum   time.Duration `json:"sum,omitempty"`   // of all of them, exactly
	Most  time.Duration `json:"most,omitempty"`  // the longest one, exactly
	// MostCut says that the longest one was cut short.
	MostCut bool `json:"mostCut,omitempty"`
}

const (
	leastWait = time.Microsecond // shorter ones count as that
	stepRatio = 1.02
)

// Add enters a duration.
func (w *Waits) Add(d time.Duration, cut bool) {
	counts := &w.Ended
	if cut {
		counts = &w.Cut
	}
	if *counts == nil {
		*counts = map[int]int{}
	}
	(*counts)[stepOf(d)]++
	w.Sum += d
	w.longest(d, cut)
}

// longest takes note of a duration that may be the longest.
func (w *Waits) longest(d time.Duration, cut bool) {
	if d > w.Most {
		w.Most, w.MostCut = d, cut
	}
}

// stepOf returns the step into which a duration falls.
func stepOf(d time.Duration) int {
	return int(math.Round(math.Log(float64(max(d, leastWait))/float64(leastWait)) / math.Log(stepRatio)))
}

// lengthOf returns the duration in the middle of a step.
func lengthOf(step int) time.Duration {
	return time.Duration(float64(leastWait) * math.Pow(stepRatio, float64(step)))
}

// Join enters all of another one.
func (w *Waits) Join(other Waits) {
	w.Ended = joined(w.Ended, other.Ended)
	w.Cut = joined(w.Cut, other.Cut)
	w.Sum += other.Sum
	w.longest(other.Most, other.MostCut)
}

// joined adds counts to others, which it may change.
func joined(counts, more map[int]int) map[int]int {
	if counts == nil && len(more) > 0 {
		counts = make(map[int]int, len(more))
	}
	for step, n := range more {
		counts[step] += n
	}
	return counts
}

// Count returns how many there are, and how many of them were cut short.
func (w *Waits) Count() (all, cut int) {
	for _, n := range w.Cut {
		cut += n
	}
	all = cut
	for _, n := range w.Ended {
		all += n
	}
	return all, cut
}

// Quantile returns the duration below which a share q of all lies, 0 if there are none. Those that were cut short count for as
// long as they were seen (the estimator of Kaplan and Meier). If too few of them were seen to their end the result is the
// longest of all, and a bound: the quantile is not below it.
func (w *Waits) Quantile(q float64) (d time.Duration, bound bool) {
	left, _ := w.Count()
	if left == 0 {
		return 0, false
	}
	longer := 1. // the share that is longer than the steps so far
	for step, last := 0, stepOf(w.Most); step <= last; step++ {
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
