package tree

import (
	"context"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A view is what there is to show.
type view struct {
	*model
	deadlocks []deadlock  // those of several parties, and certain ones
	selves    []deadlock  // parties that wait for themselves: most likely two of their goroutines want the same key
	settled   *model      // in which the deadlocks are: what is there still, and perhaps some whom nobody knows
	more      int         // deadlocks that are not among these
	now       time.Time   // by the server's clock
	marks     map[int]int // of a party the number of its deadlock, from 1
}

func newView(ctx context.Context, states []redislock.KeyState, look inspect, k *marker, pause time.Duration) (*view, error) {
	v := &view{model: newModel(k.identify(ctx, states)), marks: map[int]int{}}
	v.tokens = k.latest
	var err error
	if v.settled, err = settled(ctx, v.model, look, k, pause); err != nil {
		return nil, err
	}
	v.deadlocks, v.more = deadlocks(v.settled, mostDeadlocks)
	v.several = v.settled.several
	if i := slices.IndexFunc(v.deadlocks, func(d deadlock) bool { return d.rank() == mostlyNothing }); i >= 0 { // they come last
		v.deadlocks, v.selves = v.deadlocks[:i], v.deadlocks[i:]
	}
	for i := range v.deadlocks {
		for _, s := range v.deadlocks[i].Steps {
			if s.Party != "" && v.marks[s.party] == 0 {
				v.marks[s.party] = i + 1
			}
		}
	}
	v.countBehind()
	return v, nil
}

// countBehind finds out how many wait for those who are in certain deadlocks.
func (v *view) countBehind() {
	if !v.isCertain() {
		return
	}
	g := newWaits(v.model, true)
	for i := range v.deadlocks {
		d := &v.deadlocks[i]
		if !d.Certain {
			break
		}
		var circle []int
		for _, s := range d.Steps {
			circle = append(circle, g.stands[s.request]...)
		}
		requests := map[int]bool{}
		for _, node := range g.behind(circle) {
			requests[g.request[node]] = true
		}
		delete(requests, nobody)
		d.Behind = len(requests) - len(d.Steps)
	}
}

// isCertain reports whether there is a certain deadlock.
func (v *view) isCertain() bool { return len(v.deadlocks) > 0 && v.deadlocks[0].Certain }

// chain is a deadlock in short words: a party, the key that it waits for, the party in its way, and so on.
func (v *view) chain(d *deadlock, n *names) []string {
	words := []string{n.brief(d.Steps[0].party)}
	for s, next := range d.links() {
		words = append(words, n.arrow+" "+n.show(v.states[s.state].Key, 30), n.arrow+" "+n.brief(next.party))
	}
	return words
}
