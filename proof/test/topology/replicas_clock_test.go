package topology_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Leases are replicated as moments of the primary's clock. If that of the replica is ahead by more than
// what a Deadline leaves out, somebody else can have the key before, as soon as the replica has taken
// the primary's place.
func TestReplicaWithClockAhead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ahead time.Duration
		early bool // the key is free before the first one's deadline
	}{
		{0, false},
		{world.Long / 200, false},
		{world.Long / 20, true},
		{2 * world.Long, true},
	} {
		for _, kind := range redistest.Servers() {
			t.Run(fmt.Sprint(c.ahead, " ahead, ", kind), func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				primary := redistest.Start(t, kind)
				server, clock := redistest.StartSkewed(t, kind, "--replicaof", "127.0.0.1", strconv.Itoa(primary.Port()))
				clock.Shift(c.ahead)
				replica := server.Client(t)
				check.Eventually(t, 30*time.Second, "the replica is linked", func() bool {
					role := check.Must[[]any](t)(replica.Do(ctx, "role").Slice())
					return len(role) > 3 && role[3] == "connected"
				})
				lock := check.Must[*redislock.Lock](t)(world.NewClient(t, primary.Client(t), redislock.WithReplicas(1)).Obtain(ctx, []string{"a"}, world.Long,
					&redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)})) // a busy machine may need more than one
				primary.Kill()
				check.NoError(t, replica.Do(ctx, "replicaof", "no", "one").Err())

				left := check.Must[time.Duration](t)(replica.PTTL(ctx, "a").Result())
				free := time.Now().Add(max(left, 0)) // at the latest
				if early := free.Before(lock.Deadline()); early != c.early {
					t.Errorf("the key is free %v before the deadline, want that: %t", lock.Deadline().Sub(free), c.early)
				}
				second, err := world.NewClient(t, replica).Obtain(ctx, []string{"a"}, world.Long, nil)
				switch {
				case left > 0:
					world.WantConflict(t, err, "a", redislock.ModeWrite)
				case err != nil || !time.Now().Before(lock.Deadline()):
					t.Errorf("got error %v, want the lock before the first one's deadline", err)
				default:
					check.NoError(t, second.Release(ctx))
				}
			})
		}
	}
}
