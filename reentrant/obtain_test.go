package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/reentrant"
)

func TestNested(t *testing.T) {
	t.Run("costs no command, and the last release frees", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "a", "b")
			value := must[string](t)(w.rdb.Get(t.Context(), w.prefix+"a").Result())
			w.wantSilent(t, func() {
				for range 3 {
					inner := w.obtain(t, w.ctx, long, nil, "b", "a", "b")
					if diff := cmp.Diff(w.keys("b", "a"), inner.Keys()); diff != "" {
						t.Errorf("keys (-want +got):\n%s", diff)
					}
					noError(t, inner.Release(t.Context()))
				}
			})
			w.wantHeld(t, "a", "b")
			if got := must[string](t)(w.rdb.Get(t.Context(), w.prefix+"a").Result()); got != value {
				t.Errorf("got value %q, want %q as before", got, value)
			}
			noError(t, outer.Release(t.Context()))
			w.wantHeld(t)
		})
	})

	t.Run("outer before inner", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "a")
			inner := w.obtain(t, w.ctx, long, nil, "a")
			w.wantSilent(t, func() { noError(t, outer.Release(t.Context())) })
			w.wantHeld(t, "a")
			noError(t, inner.Release(t.Context()))
			w.wantHeld(t)
		})
	})

	t.Run("a part is free with its last hold", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "a", "b", "c")
			inner := w.obtain(t, w.ctx, long, nil, "a")
			noError(t, outer.Release(t.Context()))
			w.wantHeld(t, "a")
			again := w.obtain(t, w.ctx, long, nil, "a", "b")
			w.wantHeld(t, "a", "b")
			noError(t, inner.Release(t.Context()))
			w.wantHeld(t, "a", "b")
			noError(t, again.Refresh(t.Context(), 2*long))
			noError(t, again.Release(t.Context()))
			w.wantHeld(t)
		})
	})

	t.Run("a part is free on an ended context", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "a", "b")
			inner := w.obtain(t, w.ctx, long, nil, "a")
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			noError(t, outer.Release(ended))
			w.wantHeld(t, "a")
			noError(t, inner.Release(ended))
			w.wantHeld(t)
		})
	})

	t.Run("a part that was lost", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "a", "b")
			inner := w.obtain(t, w.ctx, long, nil, "a")
			noError(t, w.rdb.Del(t.Context(), w.prefix+"b").Err())
			wantIs(t, outer.Release(t.Context()), redislock.ErrLockNotHeld, redislock.ErrLockLost)
			w.wantHeld(t, "a")
			noError(t, inner.Refresh(t.Context(), 2*long)) // of what is left
			noError(t, inner.Release(t.Context()))
		})
	})

	t.Run("metadata of the first", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, &redislock.Options{Metadata: "first"}, "a")
			inner := w.obtain(t, w.ctx, long, &redislock.Options{Metadata: "second"}, "a", "b")
			other := reentrant.NewOwner(t.Context())
			for name, want := range map[string]string{"a": "first", "b": "second"} {
				_, err := reentrant.Obtain(other, w.client, w.keys(name), long, nil)
				var conflict *redislock.ConflictError
				if !errors.As(err, &conflict) || conflict.Metadata != want || conflict.Caller != inctx.Caller(w.ctx) {
					t.Errorf("key %s: got error %v, want a conflict with %q", name, err, want)
				}
			}
			noError(t, inner.Release(t.Context()))
			noError(t, outer.Release(t.Context()))
		})
	})
}

func TestPartlyHeld(t *testing.T) {
	t.Run("the rest is obtained, and freed by itself", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "b")
			before := w.events.obtained.Load()
			inner := w.obtain(t, w.ctx, long, nil, "a", "b", "c")
			if n := w.events.obtained.Load() - before; n != 1 {
				t.Errorf("got %d obtains for the rest, want 1", n)
			}
			if diff := cmp.Diff(w.keys("a", "b", "c"), inner.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			w.wantHeld(t, "a", "b", "c")
			noError(t, inner.Release(t.Context()))
			w.wantHeld(t, "b")
			noError(t, outer.Release(t.Context()))
			w.wantHeld(t)
		})
	})

	t.Run("the rest cannot be had: nothing changes", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("c"), long, nil))
			outer := w.obtain(t, w.ctx, long, nil, "a")
			_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a", "b", "c"), long, nil)
			wantIs(t, err, redislock.ErrNotObtained)
			w.wantHeld(t, "a", "c")
			noError(t, other.Release(t.Context()))
			noError(t, outer.Release(t.Context()))
			w.wantHeld(t)
		})
	})

	t.Run("a longer ttl is for what was held, too", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "b")
			inner := w.obtain(t, w.ctx, 3*long, nil, "a", "b")
			for what, got := range map[string]time.Time{"outer": outer.Deadline(), "inner": inner.Deadline()} {
				if left := time.Until(got); left < 2*long {
					t.Errorf("%s: got %v left, want about %v", what, left, 3*long)
				}
			}
			noError(t, outer.Release(t.Context()))
			noError(t, inner.Release(t.Context()))
		})
	})
}

func TestModes(t *testing.T) {
	t.Run("read under write", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			writer := w.obtain(t, w.ctx, long, nil, "a")
			w.wantSilent(t, func() {
				reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a"), long, nil))
				noError(t, reader.Release(t.Context()))
			})
			_, err := reentrant.ObtainRead(reentrant.NewOwner(t.Context()), w.client, w.keys("a"), long, nil)
			wantIs(t, err, redislock.ErrNotObtained)
			noError(t, writer.Release(t.Context()))
		})
	})

	t.Run("write under read", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a", "b"), long, nil))
			writer := w.obtain(t, w.ctx, long, nil, "a", "c")
			other := reentrant.NewOwner(t.Context())
			wantRefused := func() {
				t.Helper()
				_, err := reentrant.ObtainRead(other, w.client, w.keys("a"), long, nil)
				wantIs(t, err, redislock.ErrNotObtained)
			}
			wantRefused()
			w.wantSilent(t, func() { noError(t, w.obtain(t, w.ctx, long, nil, "b").Release(t.Context())) })
			noError(t, writer.Release(t.Context()))
			wantRefused() // it stays a write key
			w.wantHeld(t, "a", "b")
			noError(t, reader.Release(t.Context()))
			w.wantHeld(t)
		})
	})

	t.Run("write under read, while others read", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			other := reentrant.NewOwner(t.Context())
			theirs := must[*reentrant.Hold](t)(reentrant.ObtainRead(other, w.client, w.keys("a"), long,
				&redislock.Options{Metadata: "other"}))
			ours := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a"), long, nil))
			_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a", "b"), long, nil)
			var conflict *redislock.ConflictError
			if !errors.As(err, &conflict) || conflict.Metadata != "other" || conflict.Caller != inctx.Caller(other) {
				t.Errorf("got error %v, want a conflict with the other reader", err)
			}
			wantIs(t, err, redislock.ErrNotObtained)
			w.wantHeld(t, "a") // b was given back
			noError(t, theirs.Release(other))
			w.wantHeld(t, "a")
			writer := w.obtain(t, w.ctx, long, nil, "a")
			noError(t, writer.Release(t.Context()))
			noError(t, ours.Release(t.Context()))
			w.wantHeld(t)
		})
	})

	t.Run("mixed", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			hold := must[*reentrant.Hold](t)(reentrant.ObtainSet(w.ctx, w.client, redislock.Set{Write: w.keys("a"), Read: w.keys("b", "a")}, long, nil))
			if diff := cmp.Diff(w.keys("a", "b"), hold.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			other := reentrant.NewOwner(t.Context())
			reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(other, w.client, w.keys("b"), long, nil))
			w.wantSilent(t, func() { noError(t, w.obtain(t, w.ctx, long, nil, "a").Release(t.Context())) })
			_, err := reentrant.Obtain(w.ctx, w.client, w.keys("b"), long, nil)
			wantIs(t, err, redislock.ErrNotObtained)
			noError(t, reader.Release(t.Context()))
			noError(t, hold.Release(t.Context()))
		})
	})
}

func TestOwners(t *testing.T) {
	t.Run("another owner, also in a derived context", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			hold := w.obtain(t, w.ctx, long, nil, "a")
			_, err := reentrant.Obtain(reentrant.NewOwner(w.ctx), w.client, w.keys("a"), long, nil)
			wantIs(t, err, redislock.ErrNotObtained)
			derived, cancel := context.WithCancel(w.ctx)
			defer cancel()
			noError(t, w.obtain(t, derived, long, nil, "a").Release(derived))
			noError(t, hold.Release(t.Context()))
		})
	})

	t.Run("another Client", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			hold := w.obtain(t, w.ctx, long, nil, "a")
			_, err := reentrant.Obtain(w.ctx, redislock.New(w.rdb), w.keys("a"), long, nil)
			wantIs(t, err, redislock.ErrNotObtained)
			noError(t, hold.Release(t.Context()))
		})
	})
}

func TestRefusedBeforeRedis(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		hold := w.obtain(t, w.ctx, long, nil, "a")
		ended, cancel := context.WithCancelCause(w.ctx)
		cause := errors.New("cause")
		cancel(cause)
		w.wantSilent(t, func() {
			for _, tt := range []struct {
				name string
				ctx  context.Context
				keys []string
				ttl  time.Duration
				opt  *redislock.Options
				want []error
			}{
				{"no owner", t.Context(), w.keys("a"), long, nil, []error{reentrant.ErrNoOwner}},
				{"no keys", w.ctx, nil, long, nil, []error{&redislock.InvalidError{Argument: "keys"}}},
				{"empty key", w.ctx, []string{""}, long, nil, []error{&redislock.InvalidError{Argument: "keys"}}},
				{"no ttl", w.ctx, w.keys("a"), 0, nil, []error{&redislock.InvalidError{Argument: "ttl"}}},
				{"negative ttl", w.ctx, w.keys("a"), -1, nil, []error{&redislock.InvalidError{Argument: "ttl"}}},
				{"long ttl", w.ctx, w.keys("a"), 366 * 24 * time.Hour, nil, []error{&redislock.InvalidError{Argument: "ttl"}}},
				{"no number", w.ctx, w.keys("a"), long, &redislock.Options{Fenced: true}, []error{errors.ErrUnsupported}},
				{"ended context", ended, w.keys("a"), long, nil, []error{redislock.ErrNotObtained, cause}},
			} {
				got, err := reentrant.Obtain(tt.ctx, w.client, tt.keys, tt.ttl, tt.opt)
				if got != nil {
					t.Errorf("%s: got a hold", tt.name)
				}
				wantIs(t, err, tt.want...)
			}
		})
		noError(t, hold.Release(ended))
		w.wantHeld(t)
	})
}

// Lesson: fencing number changes on re-entry.
func TestFence(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		fenced := &redislock.Options{Fenced: true}
		outer := w.obtain(t, w.ctx, long, fenced, "a")
		number := outer.Fence()
		if number == 0 {
			t.Fatal("got no number")
		}
		inner := w.obtain(t, w.ctx, 2*long, fenced, "a")
		if got := inner.Fence(); got != number || outer.Fence() != number {
			t.Errorf("got %d and %d after re-entry, want %d", got, outer.Fence(), number)
		}
		more := w.obtain(t, w.ctx, long, fenced, "b", "a")
		only := w.obtain(t, w.ctx, long, nil, "b")
		if more.Fence() != only.Fence() || more.Fence() <= number {
			t.Errorf("got %d, want the greater of %d and %d", more.Fence(), number, only.Fence())
		}
		without := w.obtain(t, w.ctx, long, nil, "a", "c")
		if got := without.Fence(); got != 0 {
			t.Errorf("got %d for a set with a key that has no number, want 0", got)
		}
		for _, hold := range []*reentrant.Hold{outer, inner, more, only, without} {
			noError(t, hold.Release(t.Context()))
		}
		w.wantHeld(t)
	})
}
