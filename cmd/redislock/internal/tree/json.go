package tree

import (
	"io"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

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
