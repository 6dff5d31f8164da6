package quorum_test

import (
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/contract"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// What every lock promises, that of a majority does.
func TestContract(t *testing.T) {
	t.Parallel()
	contract.Run(t, contract.Maker{
		Kind:    contract.KindOf(quorum.FromContext),
		NoQueue: "servers that know nothing of one another have no common order of those who wait",
		New: func(t *testing.T, server func() redistest.Backend, hooks redislock.Hooks) contract.Rig {
			t.Helper()
			w := &world{}
			for range 3 {
				w.addApart(t, server())
			}
			w.client = w.newClient(t, quorum.WithHooks(hooks))
			return contract.Rig{Locks: held.Of(w.client), Servers: w.rdbs, Clients: []any{w.client}}
		},
	})
}
