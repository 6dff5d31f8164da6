package guard_test

import (
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// keepLate keeps what is sent through a Redis client from the server. It ends with this outcome, as far as it is an Obtain;
// what is to clean up has no answer. It returns the Obtains, and what lets pass whatever comes then.
func keepLate(rdb *redis.Client, outcome any) (late func() [][]any, pass func()) {
	var passes atomic.Bool
	var kept [][]any
	rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
		switch {
		case passes.Load():
			return false
		case check.RunIn(cmd).Of("obtain"):
			kept = append(kept, slices.Clone(cmd.Args()))
			return check.Answer(cmd, outcome)
		}
		return check.Answer(cmd, io.EOF)
	}})
	return func() [][]any { return kept }, func() { passes.Store(true) }
}

// One request closes all late ones of its owner, in the line of each: of one that had no answer, and of one that was answered
// by who knows whom.
func TestLateRequestsOfTwoHomes(t *testing.T) {
	for name, outcome := range map[string]any{"no answer": io.EOF, "an answer of no script": "OK"} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				warm := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("warm", "too"), time.Hour, nil))
				check.NoError(t, warm.Release(t.Context())) // the server knows the scripts
				rdb := mini.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
				client := redislock.New(rdb)
				defer client.Close()
				late, pass := keepLate(rdb, outcome)
				for _, first := range []string{"a", "b"} {
					_, err := client.As(t.Name()).Obtain(t.Context(), w.Keys(first, "c"), time.Hour, nil)
					check.Is(t, err, redislock.ErrUnknownOutcome)
				}
				pass()
				time.Sleep(time.Minute) // the clean-ups of both
				for _, first := range []string{"a", "b"} {
					if n := check.Guards(t.Context(), w.RDB, "redislock:line:{"+w.Key(first)+"}"); n != 1 {
						t.Errorf("got %d guards beside %q, want one", n, first)
					}
				}
				if n := len(late()); n != 2 {
					t.Fatalf("%d Obtains are late, want 2", n)
				}
				for _, args := range late() {
					if reply, err := w.RDB.Do(t.Context(), args...).Result(); err != nil || reply != int64(-3) {
						t.Errorf("a late Obtain got %v and %v, want that it was overtaken", reply, err)
					}
				}
				w.WantFree(t, w.Keys("a", "b", "c")...)
			})
		})
	}
}

// A clean-up leaves alone what another Redis client has obtained with the same token, as long as that cannot say whether it is
// on the same server.
func TestCleanUpMarkFails(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	rdb, elsewhere := server.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }), server.Client(t)
	key := t.Name() // and the token
	lock := check.Must[*redislock.Lock](t)(world.NewClient(t, elsewhere).As(key).Obtain(t.Context(), []string{key}, world.Long, nil))
	var fails atomic.Bool
	fails.Store(true)
	elsewhere.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
		return fails.Load() && check.RunIn(cmd).Of("release") && check.Answer(cmd, io.EOF)
	}})
	warm := check.Must[*redislock.Lock](t)(world.NewClient(t, rdb).Obtain(t.Context(), []string{key + "warm", key + "too"}, world.Long, nil))
	check.NoError(t, warm.Release(t.Context()))
	cutObtain(rdb, true)
	_, err := world.NewClient(t, rdb).As(key).Obtain(t.Context(), []string{key, key + "b"}, world.Long, nil)
	check.Is(t, err, redislock.ErrUnknownOutcome)
	check.Eventually(t, world.Soon, "it is cleared up", func() bool { return server.Client(t).Exists(t.Context(), key+"b").Val() == 0 })
	if ttl := check.Must[time.Duration](t)(lock.TTL(t.Context())); ttl < world.Long/2 {
		t.Errorf("the lock lives %v", ttl)
	}
	fails.Store(false)
	check.NoError(t, lock.Release(t.Context()))
}
