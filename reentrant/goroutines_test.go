package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// patient asks again at moments that are no whole seconds: the tests look at whole seconds.
var patient = &redislock.Options{RetryStrategy: redislock.LinearBackoff(7 * time.Millisecond)}

// One goroutine waits for another owner. Those of its own owner wait for it, no longer than their
// contexts allow; what they hold already they have at once.
func TestGoroutinesOfOneOwner(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), time.Hour, nil))
		outer := w.obtain(t, w.ctx, time.Hour, nil, "a")
		first := make(chan *reentrant.Hold)
		go func() {
			hold, err := reentrant.Obtain(w.ctx, w.client, w.keys("a", "b"), time.Hour, patient)
			if err != nil {
				t.Error(err)
			}
			first <- hold
		}()
		time.Sleep(time.Second)

		began := time.Now()
		ctx, cancel := context.WithTimeout(w.ctx, 3*time.Second)
		defer cancel()
		_, err := reentrant.Obtain(ctx, w.client, w.keys("c", "b"), time.Hour, patient)
		wantIs(t, err, redislock.ErrNotObtained, context.DeadlineExceeded)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("got an answer after %v, want it when the context ends", took)
		}
		w.wantHeld(t, "a", "b")
		w.wantSilentBut(t, func() { noError(t, w.obtain(t, w.ctx, time.Hour, nil, "a").Release(t.Context())) })

		second := make(chan *reentrant.Hold)
		go func() {
			hold, err := reentrant.Obtain(w.ctx, w.client, w.keys("b", "c"), time.Hour, nil)
			if err != nil {
				t.Error(err) // without a strategy it waits for its own owner all the same
			}
			second <- hold
		}()
		time.Sleep(time.Second)
		noError(t, other.Release(t.Context()))
		holds := []*reentrant.Hold{outer, <-first, <-second}
		if n := w.events.obtained.Load(); n != 4 { // other, a, b, c
			t.Errorf("got %d obtains, want 4: b only once for both", n)
		}
		for _, hold := range holds {
			w.wantHeld(t, "a", "b", "c")
			noError(t, hold.Release(t.Context()))
			if hold == outer {
				continue
			}
			break
		}
		noError(t, holds[2].Release(t.Context()))
		w.wantHeld(t)
	})
}

// An Obtain of keys that another goroutine of the owner is releasing waits for the end of that Release: otherwise the lock
// that is about to go would refuse it.
func TestObtainWhileReleasing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		first := w.obtain(t, w.ctx, ttl, nil, "a")
		goOn := make(chan struct{})
		hold := func() { <-goOn }
		w.events.atRelease.Store(&hold)
		released := make(chan error)
		go func() { released <- first.Release(w.ctx) }()
		synctest.Wait()

		obtained := make(chan *reentrant.Hold, 1)
		go func() {
			hold, err := reentrant.Obtain(w.ctx, w.client, w.keys("a"), ttl, nil)
			if err != nil {
				t.Error(err)
			}
			obtained <- hold
		}()
		synctest.Wait()
		if len(obtained) != 0 {
			t.Error("obtained while the release was under way")
		}
		w.events.atRelease.Store(nil)
		close(goOn)
		noError(t, <-released)
		noError(t, (<-obtained).Release(w.ctx))
	})
}

// The outer hold ends while the rest is obtained: the inner hold keeps what was held.
func TestOuterReleasedWhileTheRestIsObtained(t *testing.T) {
	for name, succeeds := range map[string]bool{"obtained": true, "refused": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
				other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), time.Hour, nil))
				outer := w.obtain(t, w.ctx, time.Hour, nil, "a")
				ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
				defer cancel()
				done := make(chan *reentrant.Hold)
				go func() {
					hold, _ := reentrant.Obtain(ctx, w.client, w.keys("a", "b"), time.Hour, patient)
					done <- hold
				}()
				time.Sleep(time.Second)
				w.wantSilentBut(t, func() { noError(t, outer.Release(t.Context())) })
				w.wantHeld(t, "a", "b")
				if succeeds {
					noError(t, other.Release(t.Context()))
				}
				hold := <-done
				if (hold != nil) != succeeds {
					t.Fatalf("got hold %v", hold)
				}
				if succeeds {
					w.wantHeld(t, "a", "b")
					noError(t, hold.Release(t.Context()))
				} else {
					w.wantHeld(t, "b") // a had nobody any more
					noError(t, other.Release(t.Context()))
				}
				w.wantHeld(t)
			})
		})
	}
}

// wantSilentBut is wantSilent beside goroutines that ask: fn takes no time.
func (w *world) wantSilentBut(t *testing.T, fn func()) {
	t.Helper()
	began := time.Now()
	w.wantSilent(t, fn)
	if took := time.Since(began); took != 0 {
		t.Errorf("took %v, want it at once", took)
	}
}

// Others do not wait for ever for an Obtain that has panicked.
func TestPanic(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, nil))
		outer := w.obtain(t, w.ctx, long, nil, "a")
		func() {
			defer func() { _ = recover() }()
			_, _ = reentrant.Obtain(w.ctx, w.client, w.keys("a", "b"), long,
				&redislock.Options{RetryStrategy: func() redislock.BackOff { panic("strategy") }})
		}()
		noError(t, other.Release(t.Context()))
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		noError(t, w.obtain(t, ctx, long, nil, "a", "b").Release(t.Context()))
		noError(t, outer.Release(t.Context()))
		w.wantHeld(t)
	})
}

// A ledger says which owners hold a key, by what they were answered.
type ledger struct {
	mu      sync.Mutex
	readers map[string]map[int]int // key, owner, holds
	writers map[string]map[int]int
}

// note adds or removes a hold, and reports the owners that must not hold the key at the same time.
func (l *ledger) note(owner int, write, read []string, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, keys := range [][]string{write, read} {
		for _, key := range keys {
			side, against := l.writers, []map[int]int{l.writers[key], l.readers[key]}
			if i == 1 {
				side, against = l.readers, against[:1]
			}
			for _, others := range against {
				for other, holds := range others {
					if other != owner && holds > 0 && n > 0 {
						return fmt.Errorf("%q is held by owners %d and %d", key, other, owner)
					}
				}
			}
			if side[key] == nil {
				side[key] = make(map[int]int)
			}
			side[key][owner] += n
		}
	}
	return nil
}

// Several owners, each with several goroutines that hold sets inside sets, of four keys.
func TestHammer(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		const owners, goroutines, rounds = 4, 3, 25
		all := w.keys("a", "b", "c", "d")
		l := &ledger{readers: make(map[string]map[int]int), writers: make(map[string]map[int]int)}
		got := 0
		opt := &redislock.Options{
			RetryStrategy: redislock.LimitRetry(redislock.ExponentialBackoff(time.Millisecond, 4*time.Millisecond), 5),
		}
		var nest func(ctx context.Context, owner, depth int)
		nest = func(ctx context.Context, owner, depth int) {
			var write, read []string
			for _, i := range rand.Perm(len(all))[:1+rand.IntN(2)] {
				if rand.IntN(2) == 0 {
					write = append(write, all[i])
				} else {
					read = append(read, all[i])
				}
			}
			own := *opt
			own.Watchdog = rand.IntN(4) == 0
			hold, err := reentrant.ObtainSet(ctx, w.client, redislock.Set{Write: write, Read: read}, long+time.Duration(rand.IntN(3))*time.Second, &own)
			if err != nil {
				if !errors.Is(err, redislock.ErrNotObtained) {
					t.Error(err)
				}
				return
			}
			if err := l.note(owner, write, read, 1); err != nil {
				t.Error(err)
			}
			l.mu.Lock()
			got++
			l.mu.Unlock()
			if depth > 0 {
				nest(ctx, owner, depth-1)
			}
			if err := l.note(owner, write, read, -1); err != nil {
				t.Error(err)
			}
			if err := hold.Release(ctx); err != nil {
				t.Error(err)
			}
		}
		var wg sync.WaitGroup
		for owner := range owners {
			ctx := reentrant.NewOwner(t.Context())
			for range goroutines {
				wg.Go(func() {
					for range rounds {
						nest(ctx, owner, 2)
					}
				})
			}
			t.Cleanup(func() { reentrant.CheckReleased(t, ctx) })
		}
		wg.Wait()
		if n := must[int64](t)(w.rdb.Exists(t.Context(), all...).Result()); n != 0 {
			t.Errorf("%d keys are held at the end", n)
		}
		if got < rounds { // of as many for each goroutine, most of which others stand in the way of
			t.Errorf("got only %d holds", got)
		}
		t.Logf("%d holds, %d obtains asked for", got, w.events.obtained.Load())
	})
}
