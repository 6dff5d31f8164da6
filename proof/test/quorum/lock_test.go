package quorum_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

// obtain takes the write lock of "k" at all nodes.
func (w *world) obtain(t *testing.T, ttl time.Duration, opt *redislock.Options) *quorum.Lock {
	t.Helper()
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, ttl, opt))
	wantNodes(t, lock, len(w.nodes))
	return lock
}

// An obtainer is a Client or an Owner.
type obtainer interface {
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (*quorum.Lock, error)
}

// as returns the owner of a token, or the Client itself if there is none.
func as(client *quorum.Client, token string) obtainer {
	if token == "" {
		return client
	}
	return client.As(token)
}

// steal deletes "k" at some servers.
func (w *world) steal(t *testing.T, at ...int) {
	t.Helper()
	for _, i := range at {
		noError(t, w.rdbs[i].Del(t.Context(), "k").Err())
	}
}

func TestTTL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5)
	lock := w.obtain(t, time.Hour, nil)
	const part = time.Hour / 5
	for i := range w.nodes { // less than the nodes are known to have
		noError(t, w.rdbs[i].PExpire(t.Context(), "k", time.Duration(5-i)*part).Err())
	}
	if got := must[time.Duration](t)(lock.TTL(bounded(t))); got <= 2*part || got > 3*part {
		t.Errorf("got ttl %v, want the third of five", got)
	}
	w.steal(t, 0, 1)
	if got := must[time.Duration](t)(lock.TTL(bounded(t))); got <= 0 || got > part {
		t.Errorf("got ttl %v, want the least of three", got)
	}
	w.steal(t, 2)
	_, err := lock.TTL(bounded(t))
	wantOnly(t, err, redislock.ErrLockNotHeld)
	wantOnly(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
	_, err = lock.TTL(bounded(t))
	wantOnly(t, err, redislock.ErrLockNotHeld)
	w.wantHolders(t, "k", 0)
}

func TestRefresh(t *testing.T) {
	t.Run("a majority is enough, and asks the others again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 5)
		lock := w.obtain(t, long, nil)
		first := lock.Deadline()
		w.steal(t, 0, 1)
		noError(t, lock.Refresh(bounded(t), 2*long))
		if d := lock.Deadline(); d.Before(first.Add(long - soon)) {
			t.Errorf("got deadline %v after %v", d, first)
		}
		wantNodes(t, lock, 3)
		noError(t, lock.Refresh(bounded(t), 3*long))
		wantNodes(t, lock, 5)
		w.wantHolders(t, "k", 5)
		for _, rdb := range w.rdbs {
			eventually(t, "the new ttl is everywhere", func() bool {
				return must[time.Duration](t)(rdb.PTTL(t.Context(), "k").Result()) > 2*long
			})
		}
		noError(t, lock.Release(bounded(t)))
		wantOnly(t, lock.Refresh(bounded(t), long), redislock.ErrLockNotHeld)
	})

	t.Run("without a majority the lock is lost, and the rest released", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 5)
		lock := w.obtain(t, long, nil)
		held, isLost := lock.Context(t.Context()), lock.Lost()
		deadline := lock.Deadline()
		w.steal(t, 0, 2, 4)
		wantOnly(t, lock.Refresh(bounded(t), long), redislock.ErrLockNotHeld)
		wantLost(t, held)
		receive(t, isLost, "the loss")
		receive(t, lock.Lost(), "the loss, once more")
		wantLost(t, lock.Context(t.Context()))
		w.wantHolders(t, "k", 0)
		if got := lock.Deadline(); got.Before(deadline.Add(-soon)) || got.After(deadline.Add(soon)) {
			t.Errorf("got deadline %v, want the last one, %v", got, deadline)
		}
		wantOnly(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
	})

	t.Run("a node that was taken by somebody else does not come back", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 3)
		lock := w.obtain(t, long, nil)
		w.steal(t, 1)
		other := w.block(t, "k", long, 1)
		noError(t, lock.Refresh(bounded(t), long))
		noError(t, lock.Refresh(bounded(t), long))
		wantNodes(t, lock, 2)
		noError(t, other[0].Refresh(bounded(t), long))
		noError(t, lock.Release(bounded(t)))
		w.wantHolders(t, "k", 1)
	})

	t.Run("a minority does not move the deadline", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 5)
		lock := w.obtain(t, long, nil)
		noError(t, lock.Refresh(bounded(t), long)) // the scripts are where they are needed
		first := lock.Deadline()
		ctx, cancel := context.WithCancel(bounded(t))
		defer cancel()
		w.hold(0, 1, 2)
		before := w.count("refreshed", 3) + w.count("refreshed", 4)
		go func() {
			for ctx.Err() == nil && w.count("refreshed", 3)+w.count("refreshed", 4) < before+2 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		err := lock.Refresh(ctx, 3*long)
		wantOnly(t, err, redislock.ErrUnknownOutcome)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want %v", err, context.Canceled)
		}
		if got := lock.Deadline(); got.After(first.Add(soon)) {
			t.Errorf("got deadline %v after %v", got, first)
		}
		w.release(0, 1, 2)
		eventually(t, "a majority does", func() bool { return lock.Deadline().After(first.Add(long)) })
		noError(t, lock.Release(bounded(t)))
		w.wantHolders(t, "k", 0)
	})
}

func TestRelease(t *testing.T) {
	t.Run("a majority was ours, or not", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 5)
		lock := w.obtain(t, long, nil)
		w.steal(t, 1, 3)
		noError(t, lock.Release(bounded(t)))
		w.wantHolders(t, "k", 0)

		lock = w.obtain(t, long, nil)
		w.steal(t, 0, 1, 2)
		wantOnly(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
		w.wantHolders(t, "k", 0)
	})
}

func TestLoss(t *testing.T) {
	const ttl = brisk

	t.Run("the watchdog finds out about a majority", func(t *testing.T) {
		bubble(t, 5, func(t *testing.T, w *world) {
			lock := w.obtain(t, ttl, &redislock.Options{Watchdog: true})
			held := lock.Context(t.Context())
			w.steal(t, 0, 1, 2)
			wantLost(t, held)
			w.wantHolders(t, "k", 0)
		})
	})
}
