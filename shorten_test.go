package redislock_test

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
)

// onLease has every request for a new lease sent in its own way, which send does: those of
// the watchdog, and those of a Refresh.
func onLease(rdb *redis.Client, fn func(renewal bool, send func() error) error) {
	rdb.AddHook(check.Around(func(cmd redis.Cmder, send func() error) error {
		run := check.RunIn(cmd)
		if !run.Of("refresh") {
			return send()
		}
		return fn(run.NeverShortens(), send)
	}))
}

// slowly is the way of a request to a server that is some milliseconds away.
func slowly(_ bool, send func() error) error {
	time.Sleep(5 * time.Millisecond)
	err := send()
	time.Sleep(5 * time.Millisecond)
	return err
}

// A Refresh that shortens the lease of a watched lock by far is no loss, whatever becomes of it: what
// the alarm comes before the deadline, and when the watchdog asks again, goes by the lease that counts.
func TestRefreshToMuchShorter(t *testing.T) {
	const ttl, short = 30 * time.Second, 90 * time.Millisecond
	lives := func(t *testing.T, lock *redislock.Lock, j *journal, during time.Duration) {
		t.Helper()
		ctx := lock.Context(t.Context())
		time.Sleep(during)
		if isDone(ctx) {
			t.Fatalf("lost: %v", j.err("lost"))
		}
		if time.Until(lock.Deadline()) <= 0 {
			t.Fatal("the deadline is over")
		}
		noError(t, lock.Release(t.Context()))
	}
	t.Run("answered", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, j *journal) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), ttl, watched))
			onLease(w.rdb, slowly)
			noError(t, lock.Refresh(t.Context(), short))
			if left := time.Until(lock.Deadline()); left > short {
				t.Errorf("got deadline in %v", left)
			}
			lives(t, lock, j, 10*time.Second)
		})
	})
	t.Run("while a renewal is under way", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, j *journal) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), ttl, watched))
			renewing := make(chan struct{})
			var once atomic.Bool
			onLease(w.rdb, func(renewal bool, send func() error) error {
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
			noError(t, lock.Refresh(t.Context(), short))
			time.Sleep(short)
			if left := time.Until(lock.Deadline()); left > short {
				t.Errorf("got deadline in %v", left)
			}
			lives(t, lock, j, 10*time.Second)
		})
	})
	t.Run("not answered, as the next renewal", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, j *journal) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), ttl, watched))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var lost atomic.Bool // a renewal
			onLease(w.rdb, func(renewal bool, send func() error) error {
				err := slowly(renewal, send)
				if err == nil && (!renewal || lost.CompareAndSwap(false, true)) {
					cancel()
					return io.EOF
				}
				return err
			})
			wantIs(t, lock.Refresh(ctx, short), redislock.ErrUnknownOutcome)
			if left := time.Until(lock.Deadline()); left > short {
				t.Errorf("got deadline in %v", left)
			}
			lives(t, lock, j, time.Minute)
		})
	})
	t.Run("refused for good", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, j *journal) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), ttl, watched))
			onLease(w.rdb, func(renewal bool, send func() error) error {
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
			w.wantTTL(t, w.key("a"), ttl/2, ttl)
			lives(t, lock, j, time.Minute)
		})
	})
}

// What a Refresh was refused for the moment, so that it has done nothing, it does not take from the
// deadline either.
func TestRefusedRefreshKeepsTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, _ *journal) {
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), time.Hour, nil))
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
		if isDone(ctx) {
			t.Fatalf("lost: %v", context.Cause(ctx))
		}
		synctest.Wait()
		noError(t, lock.Release(t.Context()))
	})
}

// The same with a real server. A machine that stands still for as long as the short lease takes loses it
// in earnest, so more than one try counts.
func TestRefreshToMuchShorterOnAServer(t *testing.T) {
	t.Parallel()
	l := newLossy(t, func(*redis.Options) {})
	l.relay.DelayReplies(10 * time.Millisecond)
	eventually(t, 30*time.Second, "a lock survives it", func() bool {
		lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, long, watched))
		ctx := lock.Context(t.Context())
		err := lock.Refresh(t.Context(), 90*time.Millisecond)
		until := lock.Deadline()
		for err == nil && !isDone(ctx) && !lock.Deadline().After(until) {
			time.Sleep(look)
		}
		survived := err == nil && !isDone(ctx)
		_ = lock.Release(context.WithoutCancel(ctx))
		return survived
	})
}
