package redislock_test

import (
	"context"
	"crypto/fips140"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A journal gathers the events that hooks are told.
type journal struct {
	mu     sync.Mutex
	events []string
	errs   map[string]error
}

func (j *journal) hooks() redislock.Hooks {
	j.errs = make(map[string]error)
	note := func(name string) func(context.Context, redislock.Event) {
		return func(_ context.Context, e redislock.Event) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.events = append(j.events, name)
			j.errs[name] = e.Err
		}
	}
	return redislock.Hooks{
		Obtained: note("obtained"), Refused: note("refused"), Refreshed: note("refreshed"),
		Lost: note("lost"), Released: note("released"),
	}
}

func (j *journal) count(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, event := range j.events {
		if event == name {
			n++
		}
	}
	return n
}

func (j *journal) err(name string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.errs[name]
}

// bubble runs fn in a synctest bubble with a server that lives on its clock.
func bubble(t *testing.T, fn func(t *testing.T, w *world, mini *redistest.Mini, j *journal)) {
	t.Helper()
	if fips140.Enforced() {
		t.Skip("under fips140=only random numbers come from the jitter of the clock, which a bubble has not")
	}
	synctest.Test(t, func(t *testing.T) {
		mini := redistest.PipeMini(t)
		j := new(journal)
		w := newWorld(t, mini, redislock.WithHooks(j.hooks()))
		fn(t, w, mini, j)
	})
}

var watched = &redislock.Options{Watchdog: true}

func isDone(ctx context.Context) bool { return ctx.Err() != nil }

func TestWatchdogRenews(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, j *journal) {
		const ttl = 30 * time.Second
		lock := must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), w.keys("a", "b"), w.keys("c"), ttl, watched))
		ctx := lock.Context(t.Context())
		for range 720 { // an hour
			time.Sleep(5 * time.Second)
			if left := time.Until(lock.Deadline()); left < ttl/2 {
				t.Fatalf("got deadline in %v, want more than half of the ttl", left)
			}
			for _, key := range w.keys("a", "b", "c") {
				w.wantTTL(t, key, ttl/2, ttl)
			}
		}
		if isDone(ctx) {
			t.Fatalf("context has ended: %v", context.Cause(ctx))
		}
		// A third of the ttl lies between renewals, or a little less: they may go together with others.
		if n := j.count("refreshed"); n < 355 || n > 400 {
			t.Errorf("got %d renewals in an hour, want about 360", n)
		}
		noError(t, lock.Release(t.Context()))
		n := j.count("refreshed")
		time.Sleep(time.Hour)
		if more := j.count("refreshed") - n; more != 0 {
			t.Errorf("got %d renewals after the release", more)
		}
		if !errors.Is(context.Cause(ctx), context.Canceled) || errors.Is(context.Cause(ctx), redislock.ErrLockLost) {
			t.Errorf("got cause %v after the release, want canceled", context.Cause(ctx))
		}
		select {
		case <-lock.Lost():
			t.Error("a release closed Lost")
		default:
		}
	})
}

func TestRefreshedTTLIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), time.Hour, watched))
		noError(t, lock.Refresh(t.Context(), 3*time.Second))
		for range 100 {
			time.Sleep(time.Second)
			w.wantTTL(t, w.key("a"), time.Second, 3*time.Second)
		}
		noError(t, lock.Refresh(t.Context(), time.Hour))
		time.Sleep(30 * time.Minute)
		w.wantTTL(t, w.key("a"), 30*time.Minute, time.Hour)
		noError(t, lock.Release(t.Context()))
	})
}

func TestLossIsTold(t *testing.T) {
	const ttl = 30 * time.Second
	for _, test := range []struct {
		name   string
		ruin   func(t *testing.T, w *world, mini *redistest.Mini)
		within time.Duration
	}{
		{"a key was deleted", func(t *testing.T, w *world, _ *redistest.Mini) {
			t.Helper()
			noError(t, w.rdb.Del(t.Context(), w.key("b")).Err())
		}, ttl/3 + time.Second},
		{"a key was stolen", func(t *testing.T, w *world, _ *redistest.Mini) {
			t.Helper()
			noError(t, w.rdb.Set(t.Context(), w.key("b"), "another", 0).Err())
		}, ttl/3 + time.Second},
		{"the server refuses for longer than the lease", func(_ *testing.T, _ *world, mini *redistest.Mini) {
			mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
		}, ttl},
		{"the server says something final", func(_ *testing.T, _ *world, mini *redistest.Mini) {
			mini.Miniredis().SetError("NOPERM this user has no permissions to run the 'evalsha' command")
		}, ttl},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, j *journal) {
				lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), ttl, watched))
				ctx := lock.Context(t.Context())
				time.Sleep(time.Minute)
				began := time.Now()
				test.ruin(t, w, mini)
				<-ctx.Done()
				if took := time.Since(began); took > test.within {
					t.Errorf("told after %v, want within %v", took, test.within)
				}
				if time.Now().After(lock.Deadline()) {
					t.Errorf("told %v after the deadline", time.Since(lock.Deadline()))
				}
				if cause := context.Cause(ctx); cause != redislock.ErrLockLost { //nolint:errorlint // exactly this
					t.Errorf("got cause %v", cause)
				}
				<-lock.Lost()
				synctest.Wait()
				if n := j.count("lost"); n != 1 {
					t.Errorf("got %d loss events, want 1", n)
				}
				wantIs(t, j.err("lost"), redislock.ErrLockLost)
				mini.Miniredis().SetError("")
				wantIs(t, lock.Refresh(t.Context(), ttl), redislock.ErrLockNotHeld)
				if late := lock.Context(t.Context()); context.Cause(late) != redislock.ErrLockLost { //nolint:errorlint // exactly this
					t.Errorf("got cause %v of a context made after the loss", context.Cause(late))
				}
				_ = lock.Release(t.Context())
				w.wantFree(t, w.key("a"))
			})
		})
	}
}

func TestFailureWithinTheLeaseIsNoLoss(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, j *journal) {
		const ttl = 30 * time.Second
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), ttl, watched))
		ctx := lock.Context(t.Context())
		for range 20 {
			mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
			time.Sleep(ttl / 2)
			mini.Miniredis().SetError("")
			time.Sleep(ttl / 2)
		}
		if isDone(ctx) {
			t.Fatalf("lost: %v, after %v", context.Cause(ctx), j.err("lost"))
		}
		noError(t, lock.Release(t.Context()))
	})
}

func TestContextWithoutWatchdog(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), 10*time.Second, nil))
		ctx := lock.Context(t.Context())
		time.Sleep(8 * time.Second)
		noError(t, lock.Refresh(t.Context(), 20*time.Second))
		time.Sleep(15 * time.Second)
		if isDone(ctx) {
			t.Fatal("context has ended before the deadline that Refresh moved")
		}
		<-lock.Lost()
		if now := time.Now(); !isDone(ctx) || now.After(lock.Deadline()) {
			t.Errorf("told at %v, deadline %v, context done %v", now, lock.Deadline(), isDone(ctx))
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), time.Minute, watched))
		ctx := lock.Context(t.Context())
		w.client.Close()
		w.client.Close()                                 // again is harmless
		if context.Cause(ctx) != redislock.ErrLockLost { //nolint:errorlint // exactly this
			t.Errorf("got cause %v, want the loss told", context.Cause(ctx))
		}
		_, err := w.client.Obtain(t.Context(), w.keys("b"), time.Minute, nil)
		wantIs(t, err, redis.ErrClosed)
		noError(t, lock.Release(t.Context())) // it is not taken away from one who tidies up
		w.wantFree(t, w.keys("a", "b")...)
	})
}

func TestWith(t *testing.T) {
	errWork := errors.New("work failed")
	t.Run("keeps the lease while fn runs", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			err := w.client.With(t.Context(), w.keys("a", "b"), 3*time.Second, nil, func(ctx context.Context) error {
				time.Sleep(time.Minute)
				w.wantTTL(t, w.key("a"), time.Second, 3*time.Second)
				return ctx.Err()
			})
			noError(t, err)
			w.wantFree(t, w.keys("a", "b")...)
		})
	})
	t.Run("not obtained", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), time.Minute, nil))
			err := w.client.With(t.Context(), w.keys("a", "b"), time.Second, nil, func(context.Context) error {
				t.Error("fn was run")
				return nil
			})
			wantConflict(t, err, w.key("b"), redislock.ModeWrite)
			if errors.Is(err, redislock.ErrLockLost) {
				t.Errorf("got error %v, which says lost", err)
			}
		})
	})
	t.Run("the error of fn", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			err := w.client.With(t.Context(), w.keys("a"), time.Second, nil, func(context.Context) error { return errWork })
			if err != errWork { //nolint:errorlint // unchanged
				t.Errorf("got error %v, want that of fn", err)
			}
			w.wantFree(t, w.key("a"))
		})
	})
	t.Run("lost while fn ran", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			err := w.client.With(t.Context(), w.keys("a", "b"), 3*time.Second, nil, func(ctx context.Context) error {
				noError(t, w.rdb.Del(ctx, w.key("a")).Err())
				<-ctx.Done()
				return errWork
			})
			wantIs(t, err, redislock.ErrLockLost)
			wantIs(t, err, errWork)
			w.wantFree(t, w.key("b"))
		})
	})
	t.Run("lost, and only Release sees it", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			err := w.client.With(t.Context(), w.keys("a"), time.Hour, nil, func(ctx context.Context) error {
				return w.rdb.Del(ctx, w.key("a")).Err()
			})
			wantIs(t, err, redislock.ErrLockLost)
		})
	})
	t.Run("fn panics", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			defer func() {
				if r := recover(); r != "oops" {
					t.Errorf("recovered %v, want the panic of fn", r)
				}
				w.wantFree(t, w.key("a"))
			}()
			_ = w.client.With(t.Context(), w.keys("a"), time.Second, nil, func(context.Context) error { panic("oops") })
		})
	})
	t.Run("released although ctx has ended", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			ctx, cancel := context.WithCancel(t.Context())
			err := w.client.With(ctx, w.keys("a"), time.Second, nil, func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return context.Cause(ctx)
			})
			wantIs(t, err, context.Canceled)
			w.wantFree(t, w.key("a"))
		})
	})
}

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
