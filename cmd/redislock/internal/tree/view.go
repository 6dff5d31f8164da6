package tree

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A view is what there is to show.
type view struct {
	*model
	deadlocks []deadlock // with parties, requests and states of the settled model
	settled   *model
	more      int               // deadlocks that are not among these
	now       time.Time         // by the server's clock
	marks     map[int]int       // of a party the number of its deadlock, from 1
	byName    map[[2]string]int // the parties of the model
}

// newView looks for deadlocks, without comparing tokens.
func newView(ctx context.Context, states []redislock.KeyState, look inspect, pause time.Duration) (*view, error) {
	return newMarkedView(ctx, states, look, nil, pause)
}

// newMarkedView looks for deadlocks.
func newMarkedView(ctx context.Context, states []redislock.KeyState, look inspect, k *marker, pause time.Duration) (*view, error) {
	v := &view{model: newModel(k.identify(ctx, states)), marks: map[int]int{}, byName: map[[2]string]int{}}
	v.tokens = k.known()
	var err error
	if v.settled, err = settled(ctx, v.model, k.looks(look), pause); err != nil {
		return nil, err
	}
	v.deadlocks, v.more = deadlocks(v.settled, mostDeadlocks)
	v.several = v.settled.several
	for p := range v.parties {
		v.byName[nameOf(&v.parties[p])] = p
	}
	for i := range v.deadlocks {
		for _, s := range v.deadlocks[i].steps {
			party := &v.settled.parties[s.party]
			p, has := v.byName[nameOf(party)]
			if has && party.isKnown() && v.marks[p] == 0 && !v.deadlocks[i].mayBeNothing() {
				v.marks[p] = i + 1
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
	nodes := map[string][]int{} // of the requests, which have other numbers in the settled model
	for q := range v.requests {
		name := requestName(v.model, q)
		nodes[name] = append(nodes[name], g.stands[q]...)
	}
	for i := range v.deadlocks {
		if d := &v.deadlocks[i]; d.certain {
			var circle []int
			for _, s := range d.steps {
				circle = append(circle, nodes[requestName(v.settled, s.request)]...)
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

// requestName is what tells requests apart, in all models.
func requestName(m *model, q int) string {
	r := &m.requests[q]
	return fmt.Sprint(nameOf(&m.parties[r.party]), r.since.UnixMicro(), r.intent)
}

// nameOf is what tells parties apart, in all models.
func nameOf(p *party) [2]string {
	if p.caller != "" {
		return [2]string{p.caller, ""}
	}
	return [2]string{"", p.metadata}
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
