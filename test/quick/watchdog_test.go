package quick_test

import (
	"context"
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

func TestWatchdogRenews(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
		const ttl = 30 * time.Second
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainMixed(t.Context(), w.Keys("a", "b"), w.Keys("c"), ttl, world.Watched))
		ctx := lock.Context(t.Context())
		for range 720 { // an hour
			time.Sleep(5 * time.Second)
			if left := time.Until(lock.Deadline()); left < ttl/2 {
				t.Fatalf("got deadline in %v, want more than half of the ttl", left)
			}
			for _, key := range w.Keys("a", "b", "c") {
				w.WantTTL(t, key, ttl/2, ttl)
			}
		}
		if world.IsDone(ctx) {
			t.Fatalf("context has ended: %v", context.Cause(ctx))
		}
		// A third of the ttl lies between renewals, or a little less: they may go together with others.
		if n := j.Count("refreshed"); n < 355 || n > 400 {
			t.Errorf("got %d renewals in an hour, want about 360", n)
		}
		check.NoError(t, lock.Release(t.Context()))
		n := j.Count("refreshed")
		time.Sleep(time.Hour)
		if more := j.Count("refreshed") - n; more != 0 {
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
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, world.Watched))
		check.NoError(t, lock.Refresh(t.Context(), 3*time.Second))
		for range 100 {
			time.Sleep(time.Second)
			w.WantTTL(t, w.Key("a"), time.Second, 3*time.Second)
		}
		check.NoError(t, lock.Refresh(t.Context(), time.Hour))
		time.Sleep(30 * time.Minute)
		w.WantTTL(t, w.Key("a"), 30*time.Minute, time.Hour)
		check.NoError(t, lock.Release(t.Context()))
	})
}

func TestLossIsTold(t *testing.T) {
	const ttl = 30 * time.Second
	for _, test := range []struct {
		name   string
		ruin   func(t *testing.T, w *world.World, mini *redistest.Mini)
		within time.Duration
	}{
		{"a key was deleted", func(t *testing.T, w *world.World, _ *redistest.Mini) {
			t.Helper()
			check.NoError(t, w.RDB.Del(t.Context(), w.Key("b")).Err())
		}, ttl/3 + time.Second},
		{"a key was stolen", func(t *testing.T, w *world.World, _ *redistest.Mini) {
			t.Helper()
			check.NoError(t, w.RDB.Set(t.Context(), w.Key("b"), "another", 0).Err())
		}, ttl/3 + time.Second},
		{"the server refuses for longer than the lease", func(_ *testing.T, _ *world.World, mini *redistest.Mini) {
			mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
		}, ttl},
		{"the server says something final", func(_ *testing.T, _ *world.World, mini *redistest.Mini) {
			mini.Miniredis().SetError("NOPERM this user has no permissions to run the 'evalsha' command")
		}, ttl},
	} {
		t.Run(test.name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, j *world.Journal) {
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), ttl, world.Watched))
				ctx := lock.Context(t.Context())
				time.Sleep(time.Minute)
				began := time.Now()
				test.ruin(t, w, mini)
				<-ctx.Done()
				if took := time.Since(began); took > test.within {
					t.Errorf("ended after %v, want within %v", took, test.within)
				}
				if time.Now().After(lock.Deadline()) {
					t.Errorf("ended %v after the deadline", time.Since(lock.Deadline()))
				}
				if cause := context.Cause(ctx); cause != redislock.ErrLockLost { //nolint:errorlint // exactly this
					t.Errorf("got cause %v", cause)
				}
				<-lock.Lost()
				synctest.Wait()
				if n := j.Count("lost"); n != 1 {
					t.Errorf("got %d loss events, want 1", n)
				}
				check.Is(t, j.Err("lost"), redislock.ErrLockLost)
				mini.Miniredis().SetError("")
				check.Is(t, lock.Refresh(t.Context(), ttl), redislock.ErrLockNotHeld)
				if late := lock.Context(t.Context()); context.Cause(late) != redislock.ErrLockLost { //nolint:errorlint // exactly this
					t.Errorf("got cause %v of a context made after the loss", context.Cause(late))
				}
				_ = lock.Release(t.Context())
				w.WantFree(t, w.Key("a"))
			})
		})
	}
}

func TestFailureWithinTheLeaseIsNoLoss(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, j *world.Journal) {
		const ttl = 30 * time.Second
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), ttl, world.Watched))
		ctx := lock.Context(t.Context())
		for range 20 {
			mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
			time.Sleep(ttl / 2)
			mini.Miniredis().SetError("")
			time.Sleep(ttl / 2)
		}
		if world.IsDone(ctx) {
			t.Fatalf("lost: %v, after %v", context.Cause(ctx), j.Err("lost"))
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

func TestContextWithoutWatchdog(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), 10*time.Second, nil))
		ctx := lock.Context(t.Context())
		time.Sleep(8 * time.Second)
		check.NoError(t, lock.Refresh(t.Context(), 20*time.Second))
		time.Sleep(15 * time.Second)
		if world.IsDone(ctx) {
			t.Fatal("context has ended before the deadline that Refresh moved")
		}
		<-lock.Lost()
		if now := time.Now(); !world.IsDone(ctx) || now.After(lock.Deadline()) {
			t.Errorf("ended at %v, deadline %v, context done %v", now, lock.Deadline(), world.IsDone(ctx))
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Minute, world.Watched))
		ctx := lock.Context(t.Context())
		w.Client.Close()
		w.Client.Close()                                 // again is harmless
		if context.Cause(ctx) != redislock.ErrLockLost { //nolint:errorlint // exactly this
			t.Errorf("got cause %v, want the loss", context.Cause(ctx))
		}
		_, err := w.Client.Obtain(t.Context(), w.Keys("b"), time.Minute, nil)
		check.Is(t, err, redis.ErrClosed)
		check.NoError(t, lock.Release(t.Context())) // it is not taken away from one who tidies up
		w.WantFree(t, w.Keys("a", "b")...)
	})
}

func TestWith(t *testing.T) {
	errWork := errors.New("work failed")
	t.Run("keeps the lease while fn runs", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			err := w.Client.With(t.Context(), w.Keys("a", "b"), 3*time.Second, nil, func(ctx context.Context) error {
				time.Sleep(time.Minute)
				w.WantTTL(t, w.Key("a"), time.Second, 3*time.Second)
				return ctx.Err()
			})
			check.NoError(t, err)
			w.WantFree(t, w.Keys("a", "b")...)
		})
	})
	t.Run("not obtained", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("b"), time.Minute, nil))
			err := w.Client.With(t.Context(), w.Keys("a", "b"), time.Second, nil, func(context.Context) error {
				t.Error("fn was run")
				return nil
			})
			world.WantConflict(t, err, w.Key("b"), redislock.ModeWrite)
			if errors.Is(err, redislock.ErrLockLost) {
				t.Errorf("got error %v, which says lost", err)
			}
		})
	})
	t.Run("the error of fn", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			err := w.Client.With(t.Context(), w.Keys("a"), time.Second, nil, func(context.Context) error { return errWork })
			if err != errWork { //nolint:errorlint // unchanged
				t.Errorf("got error %v, want that of fn", err)
			}
			w.WantFree(t, w.Key("a"))
		})
	})
	t.Run("lost while fn ran", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			err := w.Client.With(t.Context(), w.Keys("a", "b"), 3*time.Second, nil, func(ctx context.Context) error {
				check.NoError(t, w.RDB.Del(ctx, w.Key("a")).Err())
				<-ctx.Done()
				return errWork
			})
			check.Is(t, err, redislock.ErrLockLost)
			check.Is(t, err, errWork)
			w.WantFree(t, w.Key("b"))
		})
	})
	t.Run("lost, and only Release sees it", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			err := w.Client.With(t.Context(), w.Keys("a"), time.Hour, nil, func(ctx context.Context) error {
				return w.RDB.Del(ctx, w.Key("a")).Err()
			})
			check.Is(t, err, redislock.ErrLockLost, redislock.ErrLockNotHeld) // with what the Release has said
		})
	})
	t.Run("fn ends the lock itself", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
			check.NoError(t, w.Client.With(t.Context(), w.Keys("a"), time.Second, nil, func(ctx context.Context) error {
				return redislock.FromContext(ctx).Release(ctx)
			}))
			w.WantFree(t, w.Key("a"))
			check.NoError(t, w.Client.With(t.Context(), w.Keys("a"), time.Second, nil, func(ctx context.Context) error {
				return redislock.FromContext(ctx).Leave(ctx, time.Minute)
			}))
			w.WantTTL(t, w.Key("a"), time.Minute/2, time.Minute)
			if n := j.Count("released"); n != 2 {
				t.Errorf("%d releases were told, want those of fn alone", n)
			}
			err := w.Client.With(t.Context(), w.Keys("b"), time.Second, nil, func(ctx context.Context) error {
				check.NoError(t, w.RDB.Del(ctx, w.Key("b")).Err())
				_ = redislock.FromContext(ctx).Release(ctx) // which finds that it was lost
				return nil
			})
			check.Is(t, err, redislock.ErrLockLost)
			err = w.Client.With(t.Context(), w.Keys("c"), time.Second, nil, func(ctx context.Context) error {
				lock, value := redislock.FromContext(ctx), w.RDB.Get(ctx, w.Key("c")).Val()
				check.NoError(t, w.RDB.Del(ctx, w.Key("c")).Err())
				check.Is(t, lock.Refresh(ctx, time.Second), redislock.ErrLockNotHeld)
				check.NoError(t, w.RDB.Set(t.Context(), w.Key("c"), value, time.Second).Err())
				return lock.Release(t.Context()) // of a lock that is known to be lost
			})
			check.Is(t, err, redislock.ErrLockLost)
		})
	})
	t.Run("fn panics", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			defer func() {
				if r := recover(); r != "oops" {
					t.Errorf("recovered %v, want the panic of fn", r)
				}
				w.WantFree(t, w.Key("a"))
			}()
			_ = w.Client.With(t.Context(), w.Keys("a"), time.Second, nil, func(context.Context) error { panic("oops") })
		})
	})
	t.Run("released although ctx has ended", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			ctx, cancel := context.WithCancel(t.Context())
			err := w.Client.With(ctx, w.Keys("a"), time.Second, nil, func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return context.Cause(ctx)
			})
			check.Is(t, err, context.Canceled)
			w.WantFree(t, w.Key("a"))
		})
	})
}
