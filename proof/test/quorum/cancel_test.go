package quorum_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

// A lateEnd is a context that has ended as soon as node 0 has granted something, and shows it too late.
type lateEnd struct {
	context.Context
	w *world
}

func (c lateEnd) Err() error {
	if c.w.count("obtained", 0) > 0 {
		return context.Canceled
	}
	return nil
}

func TestCancel(t *testing.T) {
	why := errors.New("gone home")

	t.Run("when a majority has just granted it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 1)
		_, err := w.client.Obtain(lateEnd{bounded(t), w}, []string{"k"}, long, nil)
		wantOnly(t, err, redislock.ErrNotObtained)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want %v", err, context.Canceled)
		}
		w.wantHolders(t, "k", 0)
	})

	t.Run("while nodes are asked", func(t *testing.T) {
		t.Parallel()
		w := relayedBy(t, 5, neverGivesUp, quorum.WithNodeTimeout(long))
		w.warmUp(t)
		ctx, cancel := context.WithCancelCause(bounded(t))
		defer cancel(nil)
		var held atomic.Int64
		for _, i := range []int{2, 3, 4} {
			w.relays[i].OnRequest(func(string, []string) { held.Add(1) })
		}
		w.hold(2, 3, 4)
		go func() {
			for ctx.Err() == nil && (w.count("obtained", 0) < 2 || w.count("obtained", 1) < 2 || held.Load() < 3) {
				time.Sleep(time.Millisecond)
			}
			cancel(why)
		}()
		began := time.Now()
		_, err := w.client.Obtain(ctx, []string{"k"}, long, nil)
		if took := time.Since(began); took > soon { // the nodes give up by themselves after a minute
			t.Errorf("it took %v", took)
		}
		wantOnly(t, err, redislock.ErrUnknownOutcome)
		if !errors.Is(err, why) {
			t.Errorf("got error %v, want %v", err, why)
		}
		w.wantHolders(t, "k", 0)
		w.release(2, 3, 4)
		w.wantBack(t)
		w.wantHolders(t, "k", 0)
	})

	t.Run("while it waits", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 3)
		w.block(t, "k", long, 0, 1)
		ctx, cancel := context.WithCancelCause(bounded(t))
		_, err := w.client.Obtain(ctx, []string{"k"}, long, &redislock.Options{RetryStrategy: func() redislock.BackOff {
			return wait(func() time.Duration {
				time.AfterFunc(10*time.Millisecond, func() { cancel(why) }) // it is about to wait
				return long
			})
		}})
		wantOnly(t, err, redislock.ErrNotObtained)
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || !errors.Is(err, why) {
			t.Errorf("got error %v, want %v and %v", err, conflict, why)
		}
		w.wantHolders(t, "k", 2)
	})

	t.Run("before", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 3)
		ctx, cancel := context.WithCancelCause(bounded(t))
		cancel(why)
		_, err := w.client.Obtain(ctx, []string{"k"}, long, nil)
		wantOnly(t, err, redislock.ErrNotObtained)
		if !errors.Is(err, why) {
			t.Errorf("got error %v, want %v", err, why)
		}
		if n := w.count("refused", 0); n != 0 {
			t.Errorf("%d nodes were asked", n)
		}
	})

	t.Run("while the number is written", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 3, quorum.WithNodeTimeout(long))
		w.warmUp(t)
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"warm"}, long, fenced))
		noError(t, lock.Release(bounded(t)))
		w.wantHolders(t, "warm", 0)
		ctx, cancel := context.WithCancelCause(bounded(t))
		defer cancel(nil)
		for _, i := range []int{0, 1, 2} {
			var asked atomic.Int64
			w.relays[i].OnRequest(func(string, []string) {
				if asked.Add(1) == 2 { // the lock is the first
					cancel(why)
				}
			})
		}
		_, err := w.client.Obtain(ctx, []string{"k"}, long, fenced)
		if !errors.Is(err, why) || errors.Is(err, redislock.ErrNotObtained) == errors.Is(err, redislock.ErrUnknownOutcome) {
			t.Errorf("got error %v, want %v and one fact", err, why)
		}
		w.wantHolders(t, "k", 0)
	})

	t.Run("after success it disturbs nobody", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 3, quorum.WithNodeTimeout(long))
		w.warmUp(t)
		w.hold(2)
		ctx, cancel := context.WithCancel(bounded(t))
		lock := must[*quorum.Lock](t)(w.client.Obtain(ctx, []string{"k"}, long, nil))
		cancel()
		w.release(2)
		wantNodes(t, lock, 3)
		noError(t, lock.Release(ctx))
		w.wantHolders(t, "k", 0)
	})
}
