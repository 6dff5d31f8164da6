package tree

import (
	"context"
	"io"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
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
	v.deadlocks, v.more = deadlocks(v.settled)
	for i := range v.deadlocks {
		for _, s := range v.deadlocks[i].Steps {
			if s.Party != "" && v.marks[s.party] == 0 {
				v.marks[s.party] = i + 1
			}
		}
	}
	return v, nil
}

// chain is a deadlock in short words: a party, the key that it waits for, the party in its way, and so on.
func (v *view) chain(d *deadlock, n *names) []string {
	words := []string{n.brief(d.Steps[0].party)}
	for s, next := range d.links() {
		words = append(words, n.arrow+" "+n.show(v.states[s.state].Key, 30), n.arrow+" "+n.brief(next.party))
	}
	return words
}

// A jsonParty is an object of --json, as edge and deadlock are, one a line. Each has a type.
type jsonParty struct {
	Type     string `json:"type"` // party
	ID       string `json:"id"`
	Caller   string `json:"caller"`
	Metadata string `json:"metadata"`
	Holds    int    `json:"holds"` // keys
	Waits    int    `json:"waits"` // requests
}

// writeJSON writes the deadlocks, and unless these are all that is wanted the parties that have to do with an edge, and the edges.
func (v *view) writeJSON(w io.Writer, only bool) error {
	var objects []any
	for _, d := range v.deadlocks {
		objects = append(objects, d)
	}
	if !only {
		edges := v.edges()
		for _, p := range joined(edges) {
			party := &v.parties[p]
			objects = append(objects, jsonParty{"party", partyID(p), party.caller, party.metadata, len(party.holds), len(party.requests)})
		}
		for _, e := range edges {
			objects = append(objects, e)
		}
	}
	for _, one := range objects {
		if err := cli.WriteJSON(w, one); err != nil {
			return err
		}
	}
	return nil
}
