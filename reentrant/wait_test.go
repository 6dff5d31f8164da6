package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// Options.Wait bounds all that an Obtain waits for, and nothing that comes after it.
func TestWait(t *testing.T) {
	const most = 5 * time.Second
	wantOver := func(t *testing.T, w *world, opt *redislock.Options, ttl time.Duration, names ...string) error {
		t.Helper()
		began := time.Now()
		_, err := reentrant.Obtain(w.ctx, w.client, w.keys(names...), ttl, opt)
		if took := time.Since(began); took < most || took > most+200*time.Millisecond {
			t.Errorf("it took %v, want %v", took, most)
		}
		wantIs(t, err, redislock.ErrWaitOver)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want it to be none of a context", err)
		}
		return err
	}

	for name, opt := range map[string]*redislock.Options{
		"polling":            {Wait: most, RetryStrategy: redislock.LinearBackoff(300 * time.Millisecond)},
		"polling by default": {Wait: most},
		"in line":            {Wait: most, Queue: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
				outer := w.obtain(t, w.ctx, long, nil, "a")
				other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, nil))
				wantIs(t, wantOver(t, w, opt, long, "a", "b"), redislock.ErrNotObtained)
				time.AfterFunc(most/2, func() { noError(t, other.Release(context.Background())) })
				noError(t, reentrant.With(w.ctx, w.client, w.keys("a", "b"), 2*time.Second, opt, func(ctx context.Context) error {
					time.Sleep(10 * most)
					w.wantHeld(t, "a", "b")
					return ctx.Err()
				}))
				noError(t, outer.Release(t.Context()))
			})
		})
	}
	opt := &redislock.Options{Wait: most}

	t.Run("for another goroutine of the owner that obtains", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, nil))
			got := make(chan error, 1)
			go func() {
				hold, err := reentrant.Obtain(w.ctx, w.client, w.keys("b"), long, &redislock.Options{Queue: true})
				if err == nil {
					err = hold.Release(w.ctx)
				}
				got <- err
			}()
			synctest.Wait()
			wantIs(t, wantOver(t, w, opt, long, "b"), redislock.ErrNotObtained)
			noError(t, other.Release(t.Context()))
			noError(t, <-got)
		})
	})

	t.Run("for one that changes the lease", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			outer := w.obtain(t, w.ctx, ttl, nil, "a")
			goOn := w.holdUp()
			longer := w.inBackground(t, 3*ttl, "a")
			wantIs(t, wantOver(t, w, opt, 2*ttl, "a"), redislock.ErrNotObtained)
			goOn()
			noError(t, (<-longer).Release(t.Context()))
			noError(t, outer.Release(t.Context()))
		})
	})

	t.Run("for an answer to an upgrade", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a"), long, nil))
			late := func() {
				w.sent.atCommand.Store(nil)
				time.Sleep(10 * time.Second)
			}
			w.sent.atCommand.Store(&late)
			wantIs(t, wantOver(t, w, opt, ttl, "a"), redislock.ErrUnknownOutcome)
			time.Sleep(10 * time.Second)
			noError(t, reader.Release(t.Context()))
			w.wantHeld(t)
		})
	})

	t.Run("one attempt is made however short it is", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) { // where no machine is too slow for the answer
			opt := &redislock.Options{Wait: time.Microsecond}
			reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a"), long, opt))
			writer := w.obtain(t, w.ctx, 2*long, opt, "a", "b") // obtains, upgrades and extends
			noError(t, writer.Release(t.Context()))
			noError(t, reader.Release(t.Context()))
		})
	})
}
