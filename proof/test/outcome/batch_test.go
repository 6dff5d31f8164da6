package outcome_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A cancelled caller leaves its batch without harming the others.
func TestCancelledCallerLeavesItsBatch(t *testing.T) {
	t.Parallel()
	obtains := map[string]func(c *redislock.Client) world.ObtainFunc{
		"write": func(c *redislock.Client) world.ObtainFunc { return c.Obtain },
		"read":  func(c *redislock.Client) world.ObtainFunc { return c.ObtainRead },
	}
	for mode, obtain := range obtains {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := world.NewLossy(t, func(o *redis.Options) { o.MaxRetries = -1 }) // nothing hides behind a retry
			l.Relay.DelayReplies(150 * time.Millisecond)                         // so that calls gather behind those under way
			defer l.Relay.DelayReplies(0)
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() { oneOfABatch(t, obtain(l.Client), fmt.Sprintf("%s:%d", l.Key, i), i%2 == 1) })
			}
			wg.Wait()
			l.Relay.DelayReplies(0)
			check.Eventually(t, 5*time.Second, "nothing is locked", func() bool {
				return len(check.Must[[]string](t)(l.Direct.Keys(t.Context(), l.Key+":*").Result())) == 0
			})
		})
	}
}

// oneOfABatch obtains and releases, or leaves soon.
func oneOfABatch(t *testing.T, obtain world.ObtainFunc, key string, leaves bool) {
	t.Helper()
	ctx := t.Context()
	if leaves {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
	}
	lock, err := obtain(ctx, []string{key}, world.Long, nil)
	switch {
	case leaves && !errors.Is(err, context.DeadlineExceeded):
		t.Errorf("got error %v, want a time-out", err)
	case !leaves && err != nil:
		t.Errorf("got error %v of a call whose neighbour was cancelled", err)
	case !leaves:
		if err := lock.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestScriptFlushIsInvisible(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	over, flushed := make(chan struct{}), make(chan int)
	go func() {
		for n := 1; ; n++ {
			select {
			case <-over:
				flushed <- n
				return
			default:
				rdb.ScriptFlush(context.Background())
			}
		}
	}()
	world.Cycles(t, client, 40, func(g, i int) string {
		return fmt.Sprintf("%s:%d:%d", t.Name(), g, i)
	})
	close(over)
	if n := <-flushed; n < 10 {
		t.Errorf("the scripts were flushed only %d times", n)
	}
	if n := rdb.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

func TestClientsThatDoNotBatch(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t, redistest.Redis).Client(t)
	clients := map[string]*redislock.Client{
		"scripter":        redislock.New(world.Bare{Scripter: rdb}),
		"of another type": redislock.New(struct{ *redis.Client }{rdb}),
	}
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Cleanup(client.Close)
			world.Cycles(t, client, 10, func(g, i int) string {
				return fmt.Sprintf("%s:%d:%d", t.Name(), g, i)
			})
			lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, world.Long, nil))
			_, err := client.Obtain(t.Context(), []string{t.Name()}, world.Long, nil)
			_ = world.WantConflict(t, err, t.Name(), redislock.ModeWrite)
			check.NoError(t, lock.Release(t.Context()))
		})
	}
}

// No two calls through a Redis client of another type share a pipeline; through one of go-redis's own they do.
func TestOtherTypesDoNotBatch(t *testing.T) {
	t.Parallel()
	for _, batched := range []bool{true, false} {
		t.Run(fmt.Sprintf("batched %t", batched), func(t *testing.T) {
			t.Parallel()
			client, rdb := world.Batched(t, batched)
			var pipelines atomic.Int64
			rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
				if len(cmds) > 1 && strings.HasPrefix(cmds[0].Name(), "eval") { // go-redis opens connections with pipelines
					pipelines.Add(1)
				}
				return send(cmds)
			}})
			var wg sync.WaitGroup
			for g := range 32 {
				wg.Go(func() {
					for i := range 10 {
						if err := world.Cycle(t.Context(), client, fmt.Sprintf("%s:%d:%d", t.Name(), g, i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if got := pipelines.Load(); (got > 0) != batched {
				t.Errorf("got %d pipelines", got)
			}
		})
	}
}
