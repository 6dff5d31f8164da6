package reentrant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

func TestTTL(t *testing.T) {
	t.Run("the least of the root locks", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			first := w.obtain(t, w.ctx, 2*long, nil, "a")
			time.Sleep(long * 3 / 2)
			both := w.obtain(t, w.ctx, long/4, nil, "b", "a")
			for _, test := range []struct {
				hold *reentrant.Hold
				want time.Duration
			}{{first, long / 2}, {both, long / 4}} {
				if ttl := must[time.Duration](t)(test.hold.TTL(t.Context())); ttl != test.want {
					t.Errorf("got ttl %v of %v, want %v", ttl, test.hold, test.want)
				}
			}
			noError(t, both.Release(t.Context()))
			noError(t, first.Release(t.Context()))
		})
	})

	t.Run("of a hold that was released nobody is asked", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			outer, inner := w.obtain(t, w.ctx, long, nil, "a"), w.obtain(t, w.ctx, long, nil, "a")
			noError(t, inner.Release(t.Context()))
			w.wantSilent(t, func() {
				_, err := inner.TTL(t.Context())
				wantIs(t, err, redislock.ErrLockNotHeld)
				if errors.Is(err, redislock.ErrLockLost) {
					t.Errorf("got a loss: %v", err)
				}
			})
			must[time.Duration](t)(outer.TTL(t.Context()))
			noError(t, outer.Release(t.Context()))
		})
	})

	t.Run("of a key that is gone", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			hold := w.obtain(t, w.ctx, long, nil, "a", "b")
			noError(t, w.rdb.Del(t.Context(), w.keys("b")...).Err())
			_, err := hold.TTL(t.Context())
			wantIs(t, err, redislock.ErrLockNotHeld, redislock.ErrLockLost)
			_ = hold.Release(t.Context())
		})
	})
}

// Keys that are held keep the metadata with which they were obtained.
func TestMetadata(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		outer := w.obtain(t, w.ctx, long, &redislock.Options{Metadata: "job=outer"}, "a")
		inner := w.obtain(t, w.ctx, long, &redislock.Options{Metadata: "job=inner"}, "a", "b")
		for _, hold := range []*reentrant.Hold{outer, inner} {
			if got := hold.Metadata(); got != "job=outer" {
				t.Errorf("got metadata %q of %v", got, hold)
			}
			noError(t, hold.Release(t.Context()))
		}
	})
}

// An observer sees that one owner holds one set and waits for another.
func TestOwnerIsSeen(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, nil))
		hold := w.obtain(t, w.ctx, long, nil, "a")
		got := make(chan error, 1)
		go func() {
			inner, err := reentrant.Obtain(w.ctx, w.client, w.keys("b"), long, &redislock.Options{Queue: true})
			if err == nil {
				err = inner.Release(w.ctx)
			}
			got <- err
		}()
		var states []redislock.KeyState
		for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(time.Millisecond) {
			states = must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), w.keys("a", "b")))
			if len(states[1].Line) > 0 {
				break
			}
		}
		if len(states[1].Line) != 1 || len(states[0].Holders) != 1 {
			t.Fatalf("got states %+v", states)
		}
		holds, waits, id := states[0].Holders[0].Caller, states[1].Line[0].Caller, inctx.Caller(w.ctx)
		if holds != id || waits != id || id == "" || states[1].Holders[0].Caller == id {
			t.Errorf("%q holds and %q waits, want %q for both", holds, waits, id)
		}
		noError(t, other.Release(t.Context()))
		noError(t, <-got)
		noError(t, hold.Release(t.Context()))
	})
}

// Each owner has a caller's id of its own, unless the context has one.
func TestCallerIDs(t *testing.T) {
	t.Parallel()
	first := reentrant.NewOwner(t.Context())
	second := reentrant.NewOwner(first)
	if a, b := inctx.Caller(first), inctx.Caller(second); a == "" || b == "" || a == b {
		t.Errorf("got callers' ids %q and %q, want two", a, b)
	}
	request := redislock.WithCaller(first, "request-7")
	third := reentrant.NewOwner(request)
	fourth := reentrant.NewOwner(third)
	if a, b := inctx.Caller(third), inctx.Caller(fourth); a != "request-7" || b != a {
		t.Errorf("got callers' ids %q and %q, want that of the request", a, b)
	}
}
