package locktest_test

import (
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/contract"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/locktest"
)

// What every lock promises, that of a Server does, and so a test meets what the code meets that it is of.
func TestContract(t *testing.T) {
	t.Parallel()
	contract.Run(t, contract.Maker{
		Kind:       contract.KindOf(redislock.FromContext),
		ToldAtOnce: "Expire tells the holder at once, which no test is to wait for",
		New: func(t *testing.T, server func() redistest.Backend, hooks redislock.Hooks) contract.Rig {
			t.Helper()
			var opts []locktest.Option
			if !isVirtual() {
				opts = append(opts, locktest.WithRedis("redis://"+server().Addr()))
			}
			s := locktest.New(t, opts...)
			client := s.Client(redislock.WithHooks(hooks))
			var refusing *locktest.Fault
			return contract.Rig{
				Locks: held.Of(client), Clients: []any{client, s},
				Servers: []*redis.Client{s.Redis()},
				Lose:    func(_ *testing.T, key string) { s.Expire(key); synctest.Wait() },
				Fail: func(text string) {
					if refusing != nil {
						refusing.Stop()
					}
					if refusing = nil; text != "" {
						refusing = s.Refuse(locktest.Any, text).Always()
					}
				},
			}
		},
	})
}
