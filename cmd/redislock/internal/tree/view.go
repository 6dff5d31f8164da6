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
	if i := slices.IndexFunc(v.deadlocks, deadlock.mayBeNothing); i >= 0 { // they come last
		v.deadlocks, v.selves = v.deadlocks[:i], v.deadlocks[i:]
	}
	for i := range v.deadlocks {
		for _, s := range v.deadlocks[i].steps {
			if v.settled.parties[s.party].isKnown() && v.marks[s.party] == 0 {
				v.marks[s.party] = i + 1
			}
		}
	}
	v.countBehind()
	return v, nil
}

// countBehind finds out how many wait for those who are in certain deadlocks.
func (v *view) countBehind() {
	if v.certain() == 0 {
		return
	}
	g := newWaits(v.model, true)
	for i := range v.deadlocks {
		if d := &v.deadlocks[i]; d.certain {
			var circle []int
			for _, s := range d.steps {
				circle = append(circle, g.stands[s.request]...)
			}
			d.behind = g.requestsBehind(circle) - len(d.steps)
		}
	}
}

// requestsBehind is how many requests wait for one of these nodes, these among them.
func (g *waits) requestsBehind(nodes []int) int {
	seen := map[int]bool{}
	for _, node := range g.behind(nodes) {
		if q := g.request[node]; q != nobody {
			seen[q] = true
		}
	}
	return len(seen)
}

// chain is a deadlock in short words: a party, the key that it waits for, the party in its way, and so on.
func (v *view) chain(d *deadlock, n *names) []string {
	words := []string{n.brief(d.steps[0].party)}
	for s, next := range d.links() {
		words = append(words, n.show(v.states[s.state].Key, 30), n.brief(next.party))
	}
	return words
}

// certain is how many deadlocks are certain.
func (v *view) certain() int {
	n := 0
	for i := range v.deadlocks {
		if v.deadlocks[i].certain {
			n++
		}
	}
	return n
}
