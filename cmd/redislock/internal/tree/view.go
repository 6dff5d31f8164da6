package tree

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A view is what there is to show.
type view struct {
	*model
	deadlocks []deadlock
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
	for i := range v.deadlocks {
		for _, s := range v.deadlocks[i].Steps {
			if s.Party != "" && v.marks[s.party] == 0 {
				v.marks[s.party] = i + 1
			}
		}
	}
	return v, nil
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
