package redislock_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestObtain(t *testing.T) {
	t.Run("takes every key of the set", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			keys := w.Keys("a", "b", "c")
			before := time.Now()
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, world.Long,
				&redislock.Options{Metadata: "who=me"}))
			after := time.Now()
			for _, key := range keys {
				got := check.Must[string](t)(w.RDB.Get(t.Context(), key).Result())
				if want := lock.Token() + "|who=me"; got != want {
					t.Errorf("got value %q, want %q", got, want)
				}
				w.WantTTL(t, key, world.Long-world.Slack, world.Long)
			}
			if diff := cmp.Diff(keys, lock.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if got := lock.Metadata(); got != "who=me" {
				t.Errorf("got metadata %q", got)
			}
			drift := world.Long/100 + 2*time.Millisecond
			earliest, latest := before.Add(world.Long-drift), after.Add(world.Long-drift)
			if d := lock.Deadline(); d.Before(earliest) || d.After(latest) {
				t.Errorf("got deadline %v, want between %v and %v", d, earliest, latest)
			}
			if ttl := check.Must[time.Duration](t)(lock.TTL(t.Context())); ttl <= world.Long-world.Slack || ttl > world.Long {
				t.Errorf("got ttl %v", ttl)
			}
			check.NoError(t, lock.Release(t.Context()))
			w.WantFree(t, keys...)
		})
	})

	t.Run("a value without metadata is the token", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
			got := check.Must[string](t)(w.RDB.Get(t.Context(), w.Key("a")).Result())
			if got != lock.Token() || len(got) != 30 {
				t.Errorf("got value %q, want the token %q of 30 characters", got, lock.Token())
			}
		})
	})

	t.Run("all or nothing", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			held := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("c"), world.Long,
				&redislock.Options{Metadata: "host=web-3"}))
			_, err := w.Client.Obtain(t.Context(), w.Keys("a", "b", "c", "d"), world.Long, nil)
			conflict := world.WantConflict(t, err, w.Key("c"), redislock.ModeWrite)
			if conflict.Metadata != "host=web-3" || conflict.TTL <= world.Long-world.Slack || conflict.TTL > world.Long {
				t.Errorf("got conflict %+v", conflict)
			}
			w.WantFree(t, w.Keys("a", "b", "d")...)
			check.NoError(t, held.Release(t.Context()))
		})
	})

	t.Run("a lock ends with its ttl", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), 4*time.Second, nil))
			check.Eventually(t, 10*time.Second, "the key can be had again", func() bool {
				_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil)
				return err == nil
			})
			if time.Now().Before(lock.Deadline()) {
				t.Error("the key could be had before the deadline of the first lock")
			}
			err := lock.Release(t.Context())
			check.Is(t, err, redislock.ErrLockNotHeld)
			_, err = lock.TTL(t.Context())
			check.Is(t, err, redislock.ErrLockNotHeld)
			check.Is(t, lock.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld)
		})
	})

	t.Run("repeated keys count once", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			keys := w.Keys("a", "b", "a", "b")
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, world.Long, nil))
			if diff := cmp.Diff(w.Keys("a", "b"), lock.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			// Lesson: a caller's slice that was kept and changed made others' keys free.
			keys[0] = w.Key("z")
			check.NoError(t, lock.Release(t.Context()))
			w.WantFree(t, w.Keys("a", "b")...)
		})
	})
}
