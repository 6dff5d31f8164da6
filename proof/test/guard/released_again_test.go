package guard_test

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A Release whose answer was lost is sent again. If callers have asked for the token meanwhile, and have obtained the keys with it, the Release
// leaves them to that lock, whatever its own lock has had sent before, and whichever way it goes.
func TestGuardReleaseIsSentAgainAndSpares(t *testing.T) {
	for _, before := range []bool{true, false} {
		for _, hooks := range []bool{true, false} {
			t.Run(fmt.Sprintf("a Refresh before %t, hooks %t", before, hooks), func(t *testing.T) {
				world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
					if !hooks {
						w.Client = world.NewClient(t, w.RDB)
					}
					lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
					if before {
						outcomeOf(w.RDB, "refresh", io.EOF, nil)
						check.NoError(t, lock.Refresh(t.Context(), time.Hour))
					}
					var other *redislock.Lock
					var sent atomic.Int64
					w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
						if !check.RunIn(cmd).Of("release") || sent.Add(1) > 1 {
							return false
						}
						other = check.Must[*redislock.Lock](t)(w.Client.As(lock.Token()).Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
						return check.Answer(cmd, io.EOF)
					}})
					check.NoError(t, lock.Release(t.Context()))
					if n := sent.Load(); n < 2 {
						t.Errorf("it was sent %d times, want it to be sent again", n)
					}
					time.Sleep(time.Minute)
					check.NoError(t, other.Refresh(t.Context(), time.Hour))
					check.NoError(t, other.Release(t.Context()))
					w.WantFree(t, w.Key("a"))
				})
			})
		}
	}
}
