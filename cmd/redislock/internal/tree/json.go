package tree

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// The objects of --json, one a line. Each has a type.
type (
	jsonParty struct {
		Type     string `json:"type"` // party
		ID       string `json:"id"`
		Caller   string `json:"caller"`
		Metadata string `json:"metadata"`
		Holds    int    `json:"holds"` // keys
		Waits    int    `json:"waits"` // requests
	}
	jsonEdge struct {
		Type string `json:"type"` // edge
		From string `json:"from"`
		To   string `json:"to,omitempty"` // absent: whoever held the key has left it
		cli.KeyName
		Why   string         `json:"why"`  // held, left or line
		Mode  redislock.Mode `json:"mode"` // of whoever is waited for
		TTL   int64          `json:"ttl_ms,omitempty"`
		Held  *string        `json:"held_since,omitempty"`
		Wants redislock.Mode `json:"wants"`
		Place int            `json:"place,omitempty"` // absent: an intent
		Since *string        `json:"since,omitempty"`
	}
	jsonDeadlock struct {
		Type    string     `json:"type"` // deadlock
		Certain bool       `json:"certain"`
		Why     []string   `json:"doubts,omitempty"`
		Since   *string    `json:"since,omitempty"`
		Behind  int        `json:"behind"`
		Steps   []jsonStep `json:"steps"`
	}
	jsonStep struct {
		Party       string `json:"party"` // the id, if it is among the parties still
		Caller      string `json:"caller"`
		Metadata    string `json:"metadata"`
		cli.KeyName        // that it waits for
		Why         string `json:"why"` // held or line
	}
)

// writeJSON writes the deadlocks, and unless these are all that is wanted the parties that have to do with an edge, and the edges.
func (v *view) writeJSON(w io.Writer, only bool) error {
	for _, d := range slices.Concat(v.deadlocks, v.selves) {
		if err := cli.WriteJSON(w, v.jsonDeadlock(&d)); err != nil {
			return err
		}
	}
	if only {
		return nil
	}
	edges := v.edges()
	for _, p := range joined(edges) {
		party := &v.parties[p]
		object := jsonParty{"party", partyID(p), party.caller, party.metadata, len(party.holds), len(party.requests)}
		if err := cli.WriteJSON(w, object); err != nil {
			return err
		}
	}
	for _, e := range edges {
		if err := cli.WriteJSON(w, v.jsonEdge(e)); err != nil {
			return err
		}
	}
	return nil
}

func partyID(p int) string { return fmt.Sprint("p", p+1) }

// joined are the parties that are in an edge, in order.
func joined(edges []edge) []int {
	is := map[int]bool{}
	for _, e := range edges {
		is[e.from], is[e.to] = true, true
	}
	delete(is, nobody)
	return slices.Sorted(maps.Keys(is))
}

func (v *view) jsonEdge(e edge) jsonEdge {
	object := jsonEdge{
		Type: "edge", From: partyID(e.from), KeyName: cli.NameOf(v.states[e.state].Key), Why: "line", Mode: e.mode,
		TTL: e.ttl.Milliseconds(), Held: cli.Moment(e.heldSince), Wants: e.wants, Place: e.place, Since: cli.Moment(e.since),
	}
	if e.to != nobody {
		object.To = partyID(e.to)
	}
	switch {
	case e.held && e.to == nobody:
		object.Why = "left"
	case e.held:
		object.Why = "held"
	}
	return object
}

func (v *view) jsonDeadlock(d *deadlock) jsonDeadlock {
	object := jsonDeadlock{Type: "deadlock", Certain: d.certain, Why: d.why, Since: cli.Moment(d.since(v.settled)), Behind: d.behind}
	for _, s := range d.steps {
		party := &v.settled.parties[s.party]
		one := jsonStep{Caller: party.caller, Metadata: party.metadata, KeyName: cli.NameOf(v.states[s.state].Key), Why: "line"}
		if party.isKnown() {
			one.Party = partyID(s.party)
		}
		if s.held {
			one.Why = "held"
		}
		object.Steps = append(object.Steps, one)
	}
	return object
}
