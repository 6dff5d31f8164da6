package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// wantLeft checks that a key is kept by nobody.
func (w *world) wantLeft(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := redislock.New(w.rdb).Obtain(t.Context(), w.keys(name), long, nil)
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || !conflict.Left {
			t.Errorf("got error %v of key %s, want it left", err, name)
		}
	}
}

func TestHoldAtLeast(t *testing.T) {
	opt := &redislock.Options{HoldAtLeast: 10 * time.Second}

	t.Run("the last Release leaves each key for the rest", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			outer := w.obtain(t, w.ctx, long, opt, "a", "b")
			time.Sleep(4 * time.Second)
			inner := w.obtain(t, w.ctx, long, opt, "b")
			again := w.obtain(t, w.ctx, long, nil, "b")
			noError(t, outer.Release(t.Context()))
			w.wantLeft(t, "a")
			noError(t, inner.Release(t.Context()))
			must[time.Duration](t)(again.TTL(t.Context()))
			noError(t, again.Release(t.Context()))
			w.wantLeft(t, "b")
			time.Sleep(5900 * time.Millisecond)
			w.wantLeft(t, "a", "b")
			time.Sleep(101 * time.Millisecond)
			w.wantHeld(t)
		})
	})

	t.Run("what is held cannot get a longer one, and nothing is lost", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "a")
			w.wantSilent(t, func() {
				_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a", "b"), long, opt)
				wantIs(t, err, errors.ErrUnsupported)
			})
			w.wantHeld(t, "a")
			must[time.Duration](t)(outer.TTL(t.Context()))
			noError(t, outer.Release(t.Context()))
			w.wantHeld(t)
		})
	})

	t.Run("what an Obtain has taken that fails is free at once", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a"), long, opt))
			other := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a", "b"), long, opt)
			wantIs(t, err, redislock.ErrNotObtained) // a was to be upgraded
			w.wantHeld(t, "a")
			noError(t, other.Release(t.Context()))
			noError(t, reader.Release(t.Context()))
			w.wantLeft(t, "a")
		})
	})

	t.Run("not what others of the owner have got", func(t *testing.T) {
		// The last hold of a key ends with an Obtain that fails, which had pinned it.
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a"), long, opt))
			other := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			release := func() {
				w.sent.atCommand.Store(nil)
				noError(t, reader.Release(t.Context()))
			}
			w.sent.atCommand.Store(&release)
			_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a", "b"), long, opt)
			if err == nil {
				t.Fatal("it was obtained")
			}
			noError(t, other.Release(t.Context()))
			w.wantLeft(t, "a")
			w.wantHeld(t, "a")
		})
	})

	t.Run("of what an Obtain has taken that fails, only what others of the owner have got is kept", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a"), long, opt))
			other := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			var hold *reentrant.Hold
			obtain := func() {
				if hold == nil { // there is none before the upgrade: until then c is being obtained
					hold, _ = reentrant.Obtain(w.ctx, w.client, w.keys("c"), long, &redislock.Options{Wait: time.Millisecond})
				}
			}
			w.sent.atCommand.Store(&obtain)
			_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a", "b", "c"), long, opt)
			w.sent.atCommand.Store(nil)
			wantIs(t, err, redislock.ErrNotObtained)
			w.wantHeld(t, "a", "c")
			noError(t, hold.Release(t.Context()))
			w.wantLeft(t, "c")
			noError(t, other.Release(t.Context()))
			noError(t, reader.Release(t.Context()))
		})
	})
}
