package multi_test

import (
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
			w.took()
			noError(t, lock.Leave(bounded(t), 2*long))
			w.wantTook(t, "released c", "released b", "released a")
			w.wantLeft(t, "a", "b", "c", "r")
			for _, name := range []string{"a", "b", "c", "r"} {
				ttl := must[time.Duration](t)(w.rdb.PTTL(bounded(t), w.key(name)).Result())
				if ttl <= long || ttl > 2*long+time.Second {
					t.Errorf("got ttl %v of %q, want about %v", ttl, name, 2*long)
				}
			}
			_, err := multi.Obtain(bounded(t), w.abc(), long, nil)
			wantConflict(t, err, w.key("a"), "part 1 of 3")
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
}
