package redislock_test

import (
	"context"
	"crypto/fips140"
	"errors"
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
