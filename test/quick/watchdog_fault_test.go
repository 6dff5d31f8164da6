package quick_test

import (
	"context"
	"fmt"
	"runtime"
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

// A server that is gone for less than a lease loses no lock; gone for longer, every holder learns of the loss.
func TestServerGone(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		t.Run("SIGSTOP for less than a lease", func(t *testing.T) {
			t.Parallel()
			const ttl = 9 * time.Second
			server := redistest.Start(t, kind)
			sent, held := watchMany(t, server, ttl)
			for range 2 {
				before, began := sent.Load(), time.Now()
				server.Pause()
				check.Eventually(t, world.Polled, "a renewal is on its way", func() bool { return sent.Load() > before })
				server.Resume()
				for _, h := range held {
					h.RenewedSince(t, began, ttl)
				}
			}
			for _, h := range held {
				check.NoError(t, h.Lock.Release(t.Context()))
			}
		})
		nothing := func(*redistest.Server) {}
		for name, does := range map[string]struct{ before, after func(*redistest.Server) }{
			"SIGSTOP for longer":           {(*redistest.Server).Pause, (*redistest.Server).Resume},
			"kill -9":                      {(*redistest.Server).Kill, nothing},
			"kill -9, and restarted empty": {func(s *redistest.Server) { s.Restart() }, nothing},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t, kind)
				_, held := watchMany(t, server, 4*time.Second)
				does.before(server)
				for _, h := range held {
					h.WantLost(t)
				}
				does.after(server)
			})
		}
	})
}

// watchMany has a Client hold many locks with a watchdog, and counts its scripts.
func watchMany(t *testing.T, server *redistest.Server, ttl time.Duration) (sent *atomic.Int64, held []*world.HeldLock) {
	t.Helper()
	w := world.New(t, server)
	sent = check.Count(w.RDB, "eval")
	for i := range 20 {
		held = append(held, world.LockKinds[0].Hold(t, w.Client, w.Key(fmt.Sprint(i)), ttl, true))
	}
	return sent, held
}

// Lesson: a lost reply of a renewal was taken for a loss, or ended the renewals.
func TestOneLostReplyIsNoLoss(t *testing.T) {
	t.Parallel()
	relay := redistest.NewRelay(t, redistest.Shared(t, redistest.Redis).Addr())
	j := new(world.Journal)
	rdb := relay.Client(t)
	client := redislock.New(rdb, redislock.WithHooks(j.Hooks()))
	t.Cleanup(client.Close)
	const ttl = 6 * time.Second
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, ttl, world.Watched))
	ctx := lock.Context(t.Context())
	var once sync.Once
	relay.OnRequest(func(name string, _ []string) {
		if strings.HasPrefix(name, "EVAL") {
			once.Do(func() {
				relay.DropReplies(true) // of this renewal, which the server executes
				time.AfterFunc(ttl/6, func() { relay.DropReplies(false) })
			})
		}
	})
	check.Eventually(t, 3*ttl, "renewals go on", func() bool { return j.Count("refreshed") >= 2 || world.IsDone(ctx) })
	if world.IsDone(ctx) {
		t.Fatalf("lost: %v", j.Err("lost"))
	}
	check.NoError(t, lock.Release(t.Context()))
}

// Lesson: a late "missing" ended the renewals of the next hold.
func TestLateRenewalTouchesNoLaterHold(t *testing.T) {
	t.Parallel()
	relay := redistest.NewRelay(t, redistest.Shared(t, redistest.Redis).Addr())
	client := redislock.New(relay.Client(t))
	t.Cleanup(client.Close)
	const ttl = 6 * time.Second
	opt := &redislock.Options{Watchdog: true}
	first := check.Must[*redislock.Lock](t)(client.As("worker-7").Obtain(t.Context(), []string{t.Name()}, ttl, opt))
	sent, goOn := make(chan struct{}), make(chan struct{})
	arrives := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(arrives)
	var seen atomic.Int64
	relay.OnRequest(func(name string, _ []string) {
		if strings.HasPrefix(name, "EVAL") && seen.Add(1) == 1 {
			close(sent)
			<-goOn
		}
	})
	<-sent // a renewal that arrives when there is nothing to renew
	check.NoError(t, first.Release(t.Context()))
	relay.DelayReplies(ttl / 20) // and is answered when there is again
	passed := relay.Requests()
	arrives()
	check.Eventually(t, world.Polled, "the renewal has arrived", func() bool { return relay.Requests() > passed })
	second := check.Must[*redislock.Lock](t)(client.As("worker-7").Obtain(t.Context(), []string{t.Name()}, ttl, opt))
	relay.DelayReplies(0)
	ctx, before := second.Context(t.Context()), second.Deadline()
	check.Eventually(t, ttl, "the later hold is renewed", func() bool { return second.Deadline().After(before) || world.IsDone(ctx) })
	if world.IsDone(ctx) {
		t.Fatalf("the later hold was lost: %v", context.Cause(ctx))
	}
	check.NoError(t, second.Release(t.Context()))
}

// Lesson: a shard that failed stopped the renewals of all others.
func TestEachLockByItself(t *testing.T) {
	t.Parallel()
	one, two := redistest.Start(t, redistest.Redis), redistest.Start(t, redistest.Redis)
	ring := redis.NewRing(&redis.RingOptions{
		Addrs:              map[string]string{"one": one.Addr(), "two": two.Addr()},
		HeartbeatFrequency: time.Hour,        // the ring keeps a shard that hangs
		ReadTimeout:        20 * time.Second, // for longer than a lease
	})
	t.Cleanup(func() { _ = ring.Close() })
	client := redislock.New(ring)
	t.Cleanup(client.Close)
	const ttl = 6 * time.Second
	held := make(map[bool][]*world.HeldLock)
	for i := range 20 {
		tag := fmt.Sprintf("{%s%d}", t.Name(), i)
		hangs := check.Must[*redis.Client](t)(ring.GetShardClientForKey(tag)).Options().Addr == two.Addr()
		held[hangs] = append(held[hangs], world.LockKinds[0].Hold(t, client, tag, ttl, true))
	}
	if len(held[true]) == 0 || len(held[false]) == 0 {
		t.Fatal("all keys are on one shard: nothing was tested")
	}
	began := time.Now()
	two.Pause()
	defer two.Resume()
	for _, h := range held[false] {
		h.RenewedSince(t, began, ttl)
	}
	for _, h := range held[true] {
		h.WantLost(t)
	}
}

func TestManyWatchedLocksShareAGoroutine(t *testing.T) {
	const locks, ttl = 5000, 9 * time.Second
	server := redistest.Start(t, redistest.Redis)
	w := world.New(t, server)
	before := runtime.NumGoroutine()
	var held []*redislock.Lock
	var mu sync.Mutex
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < locks; i += 8 {
				lock, err := w.Client.Obtain(t.Context(), w.Keys(fmt.Sprint(i)), ttl, world.Watched)
				if err != nil {
					t.Errorf("unexpected error: %v", err)
					return
				}
				mu.Lock()
				held = append(held, lock)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	from, left := time.Now().Add(ttl-ttl/100-2*time.Millisecond), held
	// A timer that fires is a goroutine for a moment, and after a pause of the machine many fire at once: they end.
	few := func() bool { return runtime.NumGoroutine()-before <= 20 }
	check.Eventually(t, 2*time.Minute, "all are renewed", func() bool {
		check.Eventually(t, world.Polled, fmt.Sprintf("20 goroutines more, at most, for %d watched locks", locks), few)
		for len(left) > 0 && left[0].Deadline().After(from) {
			left = left[1:]
		}
		return len(left) == 0
	})
	if n := check.Must[int64](t)(w.RDB.DBSize(t.Context()).Result()); n != locks {
		t.Errorf("got %d keys, want all %d locks to live on", n, locks)
	}
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < len(held); i += 8 {
				if err := held[i].Release(context.WithoutCancel(t.Context())); err != nil {
					t.Errorf("unexpected error: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}
