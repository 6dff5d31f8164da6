package quick_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/contract"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What every lock promises, a Lock of the root package does.
func TestContract(t *testing.T) {
	t.Parallel()
	contract.Run(t, contract.Maker{
		Kind: contract.KindOf(redislock.FromContext),
		New: func(t *testing.T, server func() redistest.Backend, hooks redislock.Hooks) contract.Rig {
			t.Helper()
			b := server()
			client := world.NewClient(t, b.Client(t), redislock.WithHooks(hooks))
			return contract.Rig{Locks: held.Of(client), Servers: []*redis.Client{b.Client(t)}, Clients: []any{client}}
		},
	})
}
