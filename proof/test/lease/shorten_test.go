package lease_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// slowly is the way of a request to a server that is some milliseconds away.
func slowly(_ bool, send func() error) error {
	time.Sleep(5 * time.Millisecond)
	err := send()
	time.Sleep(5 * time.Millisecond)
	return err
}

// A Refresh that shortens the lease of a watched lock by far is no loss, whatever becomes of the request: when the loss is
// reported, and when the watchdog asks again, follow from the lease that counts.
func TestRefreshToMuchShorter(t *testing.T) {
	const ttl, short = 30 * time.Second, 90 * time.Millisecond
	lives := func(t *testing.T, lock *redislock.Lock, j *world.Journal, during time.Duration) {
		t.Helper()
		ctx := lock.Context(t.Context())
		time.Sleep(during)
		if world.IsDone(ctx) {
			t.Fatalf("lost: %v", j.Err("lost"))
		}
		if time.Until(lock.Deadline()) <= 0 {
			t.Fatal("the deadline is over")
		}
		check.NoError(t, lock.Release(t.Context()))
	}
	t.Run("answered", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), ttl, world.Watched))
			world.OnLease(w.RDB, slowly)
			check.NoError(t, lock.Refresh(t.Context(), short))
			if left := time.Until(lock.Deadline()); left > short {
				t.Errorf("got deadline in %v", left)
			}
			lives(t, lock, j, 10*time.Second)
		})
	})
	t.Run("while a renewal is under way", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), ttl, world.Watched))
			renewing := make(chan struct{})
			var once atomic.Bool
			world.OnLease(w.RDB, func(renewal bool, send func() error) error {
				if renewal && once.CompareAndSwap(false, true) {
					close(renewing)
					time.Sleep(short / 2) // it arrives behind the Refresh
				}
				return slowly(renewal, send)
			})
			select {
			case <-renewing:
			case <-time.After(ttl):
				t.Fatal("no renewal was seen")
			}
			check.NoError(t, lock.Refresh(t.Context(), short))
			time.Sleep(short)
			if left := time.Until(lock.Deadline()); left > short {
				t.Errorf("got deadline in %v", left)
			}
			lives(t, lock, j, 10*time.Second)
		})
	})
	t.Run("not answered, as the next renewal", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), ttl, world.Watched))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var lost atomic.Bool // a renewal
			world.OnLease(w.RDB, func(renewal bool, send func() error) error {
				err := slowly(renewal, send)
				if err == nil && (!renewal || lost.CompareAndSwap(false, true)) {
					cancel()
					return io.EOF
				}
				return err
			})
			check.Is(t, lock.Refresh(ctx, short), redislock.ErrUnknownOutcome)
			if left := time.Until(lock.Deadline()); left > short {
				t.Errorf("got deadline in %v", left)
			}
			lives(t, lock, j, time.Minute)
		})
	})
	t.Run("refused for good", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, j *world.Journal) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), ttl, world.Watched))
			world.OnLease(w.RDB, func(renewal bool, send func() error) error {
				if !renewal {
					mini.Miniredis().SetError("NOPERM this user has no permissions to run the 'evalsha' command")
					defer mini.Miniredis().SetError("")
				}
				return slowly(renewal, send)
			})
			if err := lock.Refresh(t.Context(), short); err == nil || errors.Is(err, redislock.ErrLockNotHeld) {
				t.Errorf("got error %v", err)
			}
			time.Sleep(ttl / 2)
			w.WantTTL(t, w.Key("a"), ttl/2, ttl)
			lives(t, lock, j, time.Minute)
		})
	})
}

// A Refresh that is refused for the moment has done nothing, so it does not shorten the deadline either.
func TestRefusedRefreshKeepsTheDeadline(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
		before, ctx := lock.Deadline(), lock.Context(t.Context())
		mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
		if err := lock.Refresh(t.Context(), time.Minute); err == nil {
			t.Error("it was not refused")
		}
		mini.Miniredis().SetError("")
		if after := lock.Deadline(); !after.Equal(before) {
			t.Errorf("got deadline %v, want %v", after, before)
		}
		time.Sleep(30 * time.Minute)
		if world.IsDone(ctx) {
			t.Fatalf("lost: %v", context.Cause(ctx))
		}
		synctest.Wait()
		check.NoError(t, lock.Release(t.Context()))
	})
}

// The same with a real server. A machine that stands still for as long as the short lease takes loses it
// in earnest, so more than one try counts.
func TestRefreshToMuchShorterOnAServer(t *testing.T) {
	t.Parallel()
	l := world.NewLossy(t, func(*redis.Options) {})
	l.Relay.DelayReplies(10 * time.Millisecond)
	check.Eventually(t, 30*time.Second, "a lock survives it", func() bool {
		lock := check.Must[*redislock.Lock](t)(l.Client.Obtain(t.Context(), []string{l.Key}, world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		err := lock.Refresh(t.Context(), 90*time.Millisecond)
		until := lock.Deadline()
		for err == nil && !world.IsDone(ctx) && !lock.Deadline().After(until) {
			time.Sleep(check.Look)
		}
		survived := err == nil && !world.IsDone(ctx)
		_ = lock.Release(context.WithoutCancel(ctx))
		return survived
	})
}
