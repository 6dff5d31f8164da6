package outcome_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A convoy has calls of one Client go together: two that are under way are held up until all others wait behind them.
type convoy struct {
	*world.World
	gate chan struct{} // closed when those go on

	mu     sync.Mutex
	lost   bool     // what shares a script is not answered, and not executed yet
	late   []func() // executes it
	shared int      // keys of calls that have shared a script
}

// inConvoy runs fn in a bubble with a convoy.
func inConvoy(t *testing.T, fn func(t *testing.T, c *convoy)) {
	t.Helper()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		c := &convoy{World: w}
		w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			run := check.RunIn(cmd)
			if run.Script != "" && strings.Contains(run.Keys[0], ":ahead") && run.Of("obtain") {
				<-c.gate
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if !run.Of("batch") {
				return false
			}
			for _, key := range run.Keys[:len(run.Keys)/2] {
				if strings.HasPrefix(key, w.Prefix) {
					c.shared++
				}
			}
			if c.lost {
				again := redis.NewCmd(context.Background(), cmd.Args()...)
				c.late = append(c.late, func() { _ = w.RDB.Process(context.Background(), again) })
				cmd.SetErr(io.EOF)
			}
			return c.lost
		}})
		fn(t, c)
	})
}

// together has calls come one after the other, and go together.
func (c *convoy) together(t *testing.T, calls ...func()) {
	t.Helper()
	var all sync.WaitGroup
	goOn := c.holdUp(t)
	for _, call := range calls {
		all.Go(call)
		synctest.Wait()
	}
	goOn()
	all.Wait()
}

// loses says whether what shares a script from now on is lost.
func (c *convoy) loses(lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = lost
}

// holdUp has nothing of the Client be sent until goOn is called.
func (c *convoy) holdUp(t *testing.T) (goOn func()) {
	t.Helper()
	gate := make(chan struct{})
	c.gate = gate
	for range 2 { // as many batches as can be under way
		key := world.NewName(t) + ":ahead"
		go func() {
			lock, err := c.Client.Obtain(context.Background(), []string{key}, time.Hour, nil)
			if err == nil {
				err = lock.Release(context.Background())
			}
			if err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
	}
	return func() { close(gate) }
}

// What is to be left is left, also if it is asked for together with 64 others that are to be left or free.
func TestLeaveTogether(t *testing.T) {
	t.Parallel()
	inConvoy(t, func(t *testing.T, c *convoy) {
		const each = 22
		var calls []func()
		obtain := func(key string, opt *redislock.Options) *redislock.Lock {
			return check.Must[*redislock.Lock](t)(c.Client.Obtain(t.Context(), c.Keys(key), world.Long, opt))
		}
		for i := range each {
			other := obtain(fmt.Sprint("other", i), nil)
			leaves := obtain(fmt.Sprint("leave", i), nil)
			keeps := obtain(fmt.Sprint("keep", i), &redislock.Options{HoldAtLeast: time.Hour})
			calls = append(calls,
				func() { check.NoError(t, other.Release(t.Context())) },
				func() { check.NoError(t, leaves.Leave(t.Context(), time.Hour)) },
				func() { check.NoError(t, keeps.Release(t.Context())) },
			)
		}
		c.together(t, calls...)
		if c.shared != each {
			t.Errorf("%d calls have shared a script, want the %d that are plain", c.shared, each)
		}
		for i := range each {
			c.WantFree(t, c.Key(fmt.Sprint("other", i)))
			for _, key := range c.Keys(fmt.Sprint("leave", i), fmt.Sprint("keep", i)) {
				if got := c.RDB.Get(t.Context(), key).Val(); got != "|" {
					t.Errorf("%q holds %q, want it left", key, got)
				}
				c.WantTTL(t, key, time.Hour-world.Slack, time.Hour)
			}
		}
	})
}

// What comes after a request without an answer closes it, also if many such callers ask again at the same time: what they had
// sent together takes nothing when it arrives late.
func TestLateBundle(t *testing.T) {
	t.Parallel()
	inConvoy(t, func(t *testing.T, c *convoy) {
		const each = 32
		var keys []string
		var calls []func()
		locks := make([]*redislock.Lock, each)
		for i := range each {
			key := c.Key(fmt.Sprint("k", i))
			keys = append(keys, key)
			calls = append(calls, func() {
				locks[i] = check.Must[*redislock.Lock](t)(c.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
			})
		}
		c.loses(true)
		goOn := c.holdUp(t)
		var all sync.WaitGroup
		for _, call := range calls {
			all.Go(call)
		}
		synctest.Wait()
		goOn()
		synctest.Wait() // until all have failed
		c.loses(false)
		goOn = c.holdUp(t)
		time.Sleep(65 * time.Millisecond) // in which all ask again, and none has waited for so long that it goes past the others
		goOn()
		all.Wait()
		if c.shared != each {
			t.Errorf("%d calls have shared a script, want only the first try of each of %d", c.shared, each)
		}
		for i, lock := range locks {
			if n := check.Guards(t.Context(), c.RDB, "redislock:line:{"+keys[i]+"}"); n != 1 {
				t.Errorf("%d guards stand in the line of %q", n, keys[i])
			}
			check.NoError(t, lock.Release(t.Context()))
		}
		for _, late := range c.late {
			late()
		}
		c.WantFree(t, keys...)
	})
}
