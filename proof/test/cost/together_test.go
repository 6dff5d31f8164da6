package cost_test

import (
	"fmt"
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

// A far client is one whose server is away as far as the network takes to and fro. It counts the scripts that are sent there.
type far struct {
	*redislock.Client
	scripts atomic.Int64
}

const toAndFro = 10 * time.Millisecond

func newFar(t *testing.T, mini *redistest.Mini) *far {
	t.Helper()
	f, rdb := new(far), mini.Client(t)
	f.Client = world.NewClient(t, rdb)
	check.NoError(t, check.Must[*redislock.Lock](t)(f.Obtain(t.Context(), []string{"first"}, time.Minute, nil)).Release(t.Context()))
	rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		for _, cmd := range cmds {
			if check.RunIn(cmd).Script != "" {
				f.scripts.Add(1)
			}
		}
		time.Sleep(toAndFro)
		return send(cmds)
	}})
	return f
}

// atOnce does something so many times at once, and waits for all.
func atOnce(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// Obtains that say more than where and for how long share scripts as well.
func TestObtainsShareScripts(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		f := newFar(t, mini)
		opt := &redislock.Options{Wait: time.Minute, HoldAtLeast: time.Millisecond}
		atOnce(100, func(i int) {
			_, err := f.Obtain(t.Context(), []string{fmt.Sprint("key ", i)}, time.Minute, opt)
			check.NoError(t, err)
		})
		if got := f.scripts.Load(); got > 10 {
			t.Errorf("100 Obtains at once were sent as %d scripts, want 10 at most", got)
		}
	})
}

// Many who want one key are told by a few scripts who has it: the answer is the same for all of them.
func TestRefusedTogether(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		f := newFar(t, mini)
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{"key"}, time.Minute, nil))
		opt := &redislock.Options{RetryStrategy: redislock.NoRetry(), HoldAtLeast: time.Millisecond}
		atOnce(100, func(int) {
			_, err := f.Obtain(t.Context(), []string{"key"}, time.Minute, opt)
			check.Is(t, err, redislock.ErrNotObtained)
		})
		if got := f.scripts.Load(); got > 10 {
			t.Errorf("100 Obtains at once were refused by %d scripts, want 10 at most", got)
		}
	})
}

// A Release does not wait for those of its Client who ask again and again.
func TestReleaseOvertakesThoseWhoAskAgain(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		f := newFar(t, mini)
		lock := check.Must[*redislock.Lock](t)(f.Obtain(t.Context(), []string{"key"}, time.Minute, nil))
		const others = 10
		var held []string
		for i := range others {
			held = append(held, fmt.Sprint("held ", i))
		}
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), held, time.Minute, nil))
		done := make(chan struct{})
		go func() {
			defer close(done)
			opt := &redislock.Options{Wait: time.Second, RetryStrategy: redislock.LinearBackoff(time.Millisecond)}
			atOnce(others, func(i int) { _, _ = f.Obtain(t.Context(), held[i:i+1], time.Minute, opt) })
		}()
		time.Sleep(10*toAndFro + toAndFro/2)
		began := time.Now()
		check.NoError(t, lock.Release(t.Context()))
		if took := time.Since(began); took != toAndFro {
			t.Errorf("it took %s, want %s", took, toAndFro)
		}
		<-done
	})
}
