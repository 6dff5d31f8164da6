package quick_test

import (
	"context"
	"errors"
	"testing"
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
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a", "b"), Read: w.Keys("c")}, ttl, world.Watched))
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
