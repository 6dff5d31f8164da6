package line_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/rounds"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/wire"
	"github.com/seed-14de3678/redislock/internal/world"
)

// On a Cluster a round asks in one call for all keys of one slot, whatever their tags are.
func TestRoundsAskForASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls, waiters atomic.Int64
		server := &world.FakeServer{Script: func(run check.Run) string {
			calls.Add(1)
			waiters.Add(int64(len(run.Round)))
			return toAsk()
		}}
		cluster := redis.NewClusterClient(&redis.ClusterOptions{
			Protocol: 2, MaxRetries: -1, Dialer: server.Client(t).Options().Dialer,
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: "127.0.0.1:1"}}}}, nil
			},
		})
		conn, schedule, all := wire.New(cluster, wire.Options{}), clock.NewSchedule(), new(rounds.Rounds)
		hub := listen.NewHub(conn, schedule, "hub")
		all.Begin(conn, schedule)
		const seats, alone = 30, 8
		for i := range seats {
			keys := []string{[]string{"k", "{" + slot.Short(slot.Of("k")) + "}"}[i%2]}
			seat := &rounds.Seat{Waiter: hub.NewWaiter(fmt.Sprintf("waiter-%04d-with-its-secret", i), keys), Keys: keys, Lines: keys}
			all.Take(seat, clock.Now(), proto.Place{}, rounds.Blocker{}, time.Hour)
			defer all.Leave(seat)
		}
		time.Sleep(proto.AskAgain)
		if calls.Load() != 1 || waiters.Load() != seats-alone {
			t.Errorf("a round has asked for %d in %d calls, want %d in one", waiters.Load(), calls.Load(), seats-alone)
		}
		hub.Close()
		schedule.Close()
		check.NoError(t, cluster.Close())
		time.Sleep(time.Second) // so long the latest look-up of the nodes may take
	})
}
