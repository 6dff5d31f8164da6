package topology_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A server may run what the user may not ask its replicas about: then it is done, and nobody knows
// where. An Obtain gives it back.
func TestNeverReplicated(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		client := redislock.New(rdb, redislock.WithReplicas(1))
		defer client.Close()
		var answer error
		rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			if cmd.Name() != "wait" {
				return false
			}
			cmd.(*redis.IntCmd).SetVal(1)
			cmd.SetErr(answer)
			return true
		}})
		lock, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil)
		check.NoError(t, err)
		answer = world.Refusal("NOPERM User app has no permissions to run the 'wait' command")
		check.Is(t, lock.Refresh(t.Context(), time.Hour), redislock.ErrUnknownOutcome, answer)
		if left := rdb.PTTL(t.Context(), "a").Val(); left <= time.Minute {
			t.Errorf("the lease lasts %v, want that the Refresh was done", left)
		}
		_, err = client.Obtain(t.Context(), []string{"b"}, time.Minute, nil)
		if !errors.Is(err, answer) || errors.Is(err, redislock.ErrUnknownOutcome) {
			t.Errorf("got error %v", err)
		}
		synctest.Wait()
		if rdb.Exists(t.Context(), "b").Val() > 0 {
			t.Error("an Obtain that was refused holds the key")
		}
	})
}

// At most so many batches wait for replicas: the connections are those of everybody.
func TestReplicasLeaveConnections(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t, func(o *redis.Options) { o.PoolSize = 20 })
	client := redislock.New(rdb, redislock.WithReplicas(1))
	t.Cleanup(client.Close)
	done, n := make(chan struct{}, 200), 0
	most := uint32(0)
	for n < 200 {
		n++
		go func(key string) {
			_, _ = client.Obtain(t.Context(), []string{key}, time.Minute, nil)
			done <- struct{}{}
		}(t.Name() + string(rune('0'+n)))
		time.Sleep(10 * time.Millisecond)
		stats := rdb.PoolStats()
		most = max(most, stats.TotalConns-stats.IdleConns)
	}
	for range n {
		<-done
	}
	// One is of a clean-up, one is being opened; and for each stall of the machine another batch is let go.
	if most > 10 {
		t.Errorf("%d connections were in use", most)
	}
}
