package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A server that is gone for less than a lease loses no lock; gone for longer, every holder is told
// no later than its deadline.
func TestServerGone(t *testing.T) {
	t.Parallel()
	const ttl = 1200 * time.Millisecond
	for _, kind := range []redistest.Kind{redistest.Redis, redistest.Valkey} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			watch := func(t *testing.T) (*redistest.Server, []*redislock.Lock, []context.Context) {
				t.Helper()
				server := redistest.Start(t, kind)
				w := newWorld(t, server)
				var locks []*redislock.Lock
				var ctxs []context.Context
				for i := range 20 {
					lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys(fmt.Sprint("a", i), fmt.Sprint("b", i)), ttl, watched))
					locks, ctxs = append(locks, lock), append(ctxs, lock.Context(t.Context()))
				}
				return server, locks, ctxs
			}
			wantTold := func(t *testing.T, locks []*redislock.Lock, ctxs []context.Context) {
				t.Helper()
				var wg sync.WaitGroup
				for i, ctx := range ctxs {
					wg.Go(func() {
						<-ctx.Done()
						told := time.Now()
						if cause := context.Cause(ctx); !errors.Is(cause, redislock.ErrLockLost) {
							t.Errorf("got cause %v", cause)
						}
						if late := told.Sub(locks[i].Deadline()); late > 0 {
							t.Errorf("told %v after the deadline", late)
						}
					})
				}
				wg.Wait()
			}
			t.Run("SIGSTOP for less than a lease", func(t *testing.T) {
				t.Parallel()
				server, locks, ctxs := watch(t)
				for range 3 {
					server.Pause()
					time.Sleep(ttl / 3) // the server's own time, not a wait for something to happen
					server.Resume()
					time.Sleep(ttl)
				}
				for i, ctx := range ctxs {
					if isDone(ctx) {
						t.Fatalf("lost: %v", context.Cause(ctx))
					}
					noError(t, locks[i].Release(t.Context()))
				}
			})
			t.Run("SIGSTOP for longer", func(t *testing.T) {
				t.Parallel()
				server, locks, ctxs := watch(t)
				server.Pause()
				wantTold(t, locks, ctxs)
				server.Resume()
			})
			t.Run("kill -9", func(t *testing.T) {
				t.Parallel()
				server, locks, ctxs := watch(t)
				server.Kill()
				wantTold(t, locks, ctxs)
			})
			t.Run("kill -9, and restarted empty", func(t *testing.T) {
				t.Parallel()
				server, locks, ctxs := watch(t)
				server.Restart()
				wantTold(t, locks, ctxs)
			})
		})
	}
}

// Lesson: a lost reply of a renewal was taken for a loss, or ended the renewals.
func TestOneLostReplyIsNoLoss(t *testing.T) {
	t.Parallel()
	relay := redistest.NewRelay(t, redistest.Shared(t, redistest.Redis).Addr())
	j := new(journal)
	rdb := relay.Client(t)
	client := redislock.New(rdb, redislock.WithHooks(j.hooks()))
	t.Cleanup(client.Close)
	const ttl = 900 * time.Millisecond
	lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, ttl, watched))
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
	eventually(t, 3*ttl, "renewals go on", func() bool { return j.count("refreshed") >= 3 || isDone(ctx) })
	if isDone(ctx) {
		t.Fatalf("lost: %v", j.err("lost"))
	}
	noError(t, lock.Release(t.Context()))
}

// Lesson: a late "missing" ended the renewals of the next hold.
func TestLateRenewalTouchesNoLaterHold(t *testing.T) {
	t.Parallel()
	relay := redistest.NewRelay(t, redistest.Shared(t, redistest.Redis).Addr())
	client := redislock.New(relay.Client(t))
	t.Cleanup(client.Close)
	const ttl = 900 * time.Millisecond
	opt := &redislock.Options{Watchdog: true, Token: "worker-7"}
	first := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, ttl, opt))
	sent := make(chan struct{})
	var once sync.Once
	relay.OnRequest(func(name string, _ []string) {
		if strings.HasPrefix(name, "EVAL") {
			once.Do(func() { close(sent) })
		}
	})
	relay.DelayReplies(150 * time.Millisecond)
	<-sent // a renewal whose answer is on its way
	relay.DelayReplies(0)
	noError(t, first.Release(t.Context()))
	second := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, ttl, opt))
	ctx := second.Context(t.Context())
	time.Sleep(2 * ttl) // longer than it lives without renewals
	if isDone(ctx) {
		t.Fatalf("the later hold was lost: %v", context.Cause(ctx))
	}
	noError(t, second.Release(t.Context()))
}

// Lesson: a shard that failed stopped the renewals of all others.
func TestEachLockByItself(t *testing.T) {
	t.Parallel()
	one, two := redistest.Start(t, redistest.Redis), redistest.Start(t, redistest.Redis)
	ring := redis.NewRing(&redis.RingOptions{
		Addrs:              map[string]string{"one": one.Addr(), "two": two.Addr()},
		HeartbeatFrequency: time.Hour, // the ring keeps a shard that hangs
	})
	t.Cleanup(func() { _ = ring.Close() })
	client := redislock.New(ring)
	t.Cleanup(client.Close)
	const ttl = 900 * time.Millisecond
	lost := make(map[bool][]context.Context)
	for i := range 20 {
		key := fmt.Sprint(t.Name(), i)
		shard := must[*redis.Client](t)(ring.GetShardClientForKey(key))
		lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, ttl, watched))
		hangs := shard.Options().Addr == two.Addr()
		lost[hangs] = append(lost[hangs], lock.Context(t.Context()))
	}
	two.Pause()
	for _, ctx := range lost[true] {
		<-ctx.Done()
	}
	time.Sleep(2 * ttl) // longer than the others live without renewals
	for _, ctx := range lost[false] {
		if isDone(ctx) {
			t.Fatalf("a lock of the other shard was lost: %v", context.Cause(ctx))
		}
	}
	if len(lost[true]) == 0 || len(lost[false]) == 0 {
		t.Fatal("all keys are on one shard: nothing was tested")
	}
	two.Resume()
}

func TestManyWatchedLocksShareAGoroutine(t *testing.T) {
	const locks, ttl = 10000, 9 * time.Second
	server := redistest.Start(t, redistest.Redis)
	w := newWorld(t, server)
	before := runtime.NumGoroutine()
	var held []*redislock.Lock
	var mu sync.Mutex
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < locks; i += 8 {
				lock, err := w.client.Obtain(t.Context(), w.keys(fmt.Sprint(i)), ttl, watched)
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
	most := 0
	for end := time.Now().Add(ttl + ttl/3); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		most = max(most, runtime.NumGoroutine()-before)
	}
	if most > 20 {
		t.Errorf("got %d goroutines more for %d watched locks", most, locks)
	}
	if n := must[int64](t)(w.rdb.DBSize(t.Context()).Result()); n != locks {
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
