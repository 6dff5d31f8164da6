package multi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/multi"
)

// wantLeft checks that a key is kept by nobody.
func (w *world) wantLeft(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := redislock.New(w.rdb).Obtain(bounded(t), []string{w.key(name)}, long, nil)
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || !conflict.Left {
			t.Errorf("got error %v of key %q, want it left", err, name)
		}
	}
}

func TestLeave(t *testing.T) {
	t.Run("keeps every part, the last one first", func(t *testing.T) {
		ordered(t, func(t *testing.T, w *world) {
			parts := w.abc()
			parts[0].Read = []string{w.key("r")}
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), parts, long, &redislock.Options{Metadata: "other", Watchdog: true}))
			held := lock.Context(bounded(t))
			w.took()
			noError(t, lock.Leave(bounded(t), 2*long))
			w.wantTook(t, "released c", "released b", "released a")
			w.wantLeft(t, "a", "b", "c", "r")
			receive(t, held.Done())
			wantIs(t, context.Cause(held), context.Canceled)
			for _, name := range []string{"a", "b", "c", "r"} {
				ttl := must[time.Duration](t)(w.rdb.PTTL(bounded(t), w.key(name)).Result())
				if ttl <= long || ttl > 2*long+time.Second {
					t.Errorf("got ttl %v of %q, want about %v", ttl, name, 2*long)
				}
			}
			_, err := lock.TTL(bounded(t))
			wantIs(t, err, redislock.ErrLockNotHeld)
			wantIs(t, lock.Refresh(bounded(t), long), redislock.ErrLockNotHeld)
			wantIs(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
			w.wantLeft(t, "a", "b", "c", "r")
			_, err = multi.Obtain(bounded(t), w.abc(), long, nil)
			wantConflict(t, err, w.key("a"), "part 1 of 3")
		})
	})

	t.Run("until the time is over", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
			noError(t, lock.Leave(bounded(t), time.Second))
			time.Sleep(900 * time.Millisecond)
			w.wantLeft(t, "a", "b", "c")
			time.Sleep(101 * time.Millisecond)
			w.wantFree(t, "a", "b", "c")
		})
	})

	t.Run("says which part was lost, and keeps the others", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
			w.steal(t, "b")
			wantIs(t, lock.Leave(bounded(t), long), redislock.ErrLockNotHeld)
			w.wantLeft(t, "a", "c")
			w.wantFree(t, "b")
		})
	})

	t.Run("a time that cannot be is refused, and the lock stays", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
			w.took()
			wantIs(t, lock.Leave(bounded(t), 365*24*time.Hour+1), redislock.ErrInvalidTTL)
			wantEvents(t, w.took(), nil)
			must[time.Duration](t)(lock.TTL(bounded(t)))
			noError(t, lock.Release(bounded(t)))
			w.wantFree(t, "a", "b", "c")
		})
	})
	t.Run("until a time that has passed it is a Release", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			for _, ttl := range []time.Duration{0, -time.Minute} {
				lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
				noError(t, lock.Leave(bounded(t), ttl))
				w.wantFree(t, "a", "b", "c")
			}
		})
	})
}

func TestHoldAtLeast(t *testing.T) {
	opt := &redislock.Options{HoldAtLeast: 10 * time.Second}

	t.Run("a Release before keeps every part for the rest", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			var d diary
			began := time.Now()
			noError(t, d.client().With(bounded(t), w.abc(), long, opt, func(context.Context) error {
				time.Sleep(4 * time.Second)
				return nil
			}))
			if e := d.took(t, "obtained", "released")[1]; e.Kept != 6*time.Second || e.Held != 4*time.Second || e.Err != nil {
				t.Errorf("got event %+v", e)
			}
			w.wantLeft(t, "a", "b", "c")
			time.Sleep(time.Until(began.Add(9900 * time.Millisecond)))
			w.wantLeft(t, "a", "b", "c")
			time.Sleep(101 * time.Millisecond)
			w.wantFree(t, "a", "b", "c")
		})
	})

	t.Run("a Release after it frees", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			var d diary
			lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), w.abc(), long, opt))
			time.Sleep(10 * time.Second)
			noError(t, lock.Release(bounded(t)))
			w.wantFree(t, "a", "b", "c")
			if kept := d.took(t, "obtained", "released")[1].Kept; kept != 0 {
				t.Errorf("got kept %v of keys that are free", kept)
			}
		})
	})

	t.Run("a Leave does not make it shorter", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, opt))
			noError(t, lock.Leave(bounded(t), time.Second))
			time.Sleep(9 * time.Second)
			w.wantLeft(t, "a", "b", "c")
		})
	})

	t.Run("what a round that has failed has taken is free at once", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "c")
			_, err := multi.Obtain(bounded(t), w.abc(), long, opt)
			wantConflict(t, err, w.key("c"), "part 3 of 3")
			w.wantFree(t, "a", "b")
			noError(t, other.Release(bounded(t)))
		})
	})

	t.Run("a time that cannot be is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			for _, least := range []time.Duration{-1, 365*24*time.Hour + 1} {
				_, err := multi.Obtain(bounded(t), w.abc(), long, &redislock.Options{HoldAtLeast: least})
				if err == nil || errors.Is(err, redislock.ErrNotObtained) {
					t.Errorf("got error %v", err)
				}
			}
			wantEvents(t, w.took(), nil)
		})
	})
}
