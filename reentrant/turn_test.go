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

// holdUp has the next change of a lease come to its end only when the function returned is called.
func (w *world) holdUp() (goOn func()) {
	wait := make(chan struct{})
	block := func() {
		w.events.atRefresh.Store(nil)
		<-wait
	}
	w.events.atRefresh.Store(&block)
	return func() { close(wait) }
}

// inBackground obtains write keys and sends the hold, or nil.
func (w *world) inBackground(t *testing.T, ttl time.Duration, names ...string) <-chan *reentrant.Hold {
	t.Helper()
	holds := make(chan *reentrant.Hold, 1)
	go func() {
		hold, err := reentrant.Obtain(w.ctx, w.client, w.keys(names...), ttl, nil)
		if err != nil {
			t.Error(err)
		}
		holds <- hold
	}()
	synctest.Wait()
	return holds
}

// If two goroutines upgrade the same keys that is done once, so that the fencing number changes once.
func TestUpgradesTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a"), ttl,
			&redislock.Options{Fenced: true}))
		goOn := w.holdUp()
		first, second := w.inBackground(t, ttl, "a"), w.inBackground(t, ttl, "a")
		number := reader.Fence()

		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		_, err := reentrant.Obtain(ctx, w.client, w.keys("a"), ttl, nil)
		wantIs(t, err, redislock.ErrNotObtained, context.DeadlineExceeded)

		goOn()
		for _, hold := range []*reentrant.Hold{reader, <-first, <-second} {
			if got := hold.Fence(); got != number {
				t.Errorf("got number %d, want %d of the one upgrade", got, number)
			}
			noError(t, hold.Release(t.Context()))
		}
		if n := w.events.refreshed.Load(); n != 1 {
			t.Errorf("got %d upgrades, want 1", n)
		}
	})
}

// Of two extensions at the same time, the shorter one is never sent after the longer one.
func TestExtensionsTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		outer := w.obtain(t, w.ctx, ttl, nil, "a")
		goOn := w.holdUp()
		longer, shorter := w.inBackground(t, 3*ttl, "a"), w.inBackground(t, 2*ttl, "a")
		goOn()
		for _, hold := range []*reentrant.Hold{outer, <-longer, <-shorter} {
			if left := time.Until(hold.Deadline()); left < 2*ttl+ttl/2 {
				t.Errorf("got %v left, want about %v", left, 3*ttl)
			}
			noError(t, hold.Release(t.Context()))
		}
		if n := w.events.refreshed.Load(); n != 1 {
			t.Errorf("got %d extensions, want 1", n)
		}
	})
}

// A renewal with the old ttl, which was under way, is executed after the extension.
func TestRenewalBehindAnExtension(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		outer := w.obtain(t, w.ctx, ttl, nil, "a")
		inner := w.obtain(t, w.ctx, ttl, watched, "a")
		time.Sleep(9 * time.Second)
		wait := make(chan struct{})
		block := func() {
			w.sent.atCommand.Store(nil)
			<-wait
		}
		w.sent.atCommand.Store(&block)
		longer := w.inBackground(t, 10*ttl, "a")
		time.Sleep(2 * time.Second) // now the renewal waits for it
		close(wait)
		hold := <-longer
		time.Sleep(time.Second)
		if left := time.Until(hold.Deadline()); left < 9*ttl {
			t.Errorf("got %v left, want about %v", left, 10*ttl)
		}
		for _, hold := range []*reentrant.Hold{outer, inner, hold} {
			noError(t, hold.Release(t.Context()))
		}
	})
}

// The hold is released while its Refresh waits: that is no loss.
func TestRefreshOfOneThatIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		hold := w.obtain(t, w.ctx, ttl, nil, "a")
		goOn := w.holdUp()
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- hold.Refresh(w.ctx, 2*ttl) }()
		synctest.Wait()
		go func() { second <- hold.Refresh(w.ctx, 3*ttl) }()
		synctest.Wait()
		noError(t, hold.Release(w.ctx))
		goOn()
		noError(t, <-first)
		err := <-second
		wantIs(t, err, redislock.ErrLockNotHeld)
		if errors.Is(err, redislock.ErrLockLost) {
			t.Errorf("got a loss: %v", err)
		}
	})
}
