package outcome_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Lessons: token job-1 takes the lock of job-10; a set cannot grow under its own token; of a
// set whose subset is obtained anew the rest stays locked.
func TestToken(t *testing.T) {
	said := func(metadata string) *redislock.Options { return &redislock.Options{Metadata: metadata} }
	t.Run("whole tokens are compared", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.As("job-10").Obtain(t.Context(), w.Keys("a"), world.Long, nil))
			for _, other := range []string{"job-1", "job-100", "job-10x", "JOB-10"} {
				_, err := w.Client.As(other).Obtain(t.Context(), w.Keys("a"), world.Long, nil)
				world.WantConflict(t, err, w.Key("a"), redislock.ModeWrite)
				_, err = w.Client.As(other).ObtainRead(t.Context(), w.Keys("a"), world.Long, nil)
				world.WantConflict(t, err, w.Key("a"), redislock.ModeWrite)
				check.Is(t, w.Client.Attach(w.Keys("a"), other).Release(t.Context()), redislock.ErrLockNotHeld)
				check.Is(t, w.Client.Attach(w.Keys("a"), other).Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld)
			}
			check.NoError(t, lock.Release(t.Context()))
		})
	})

	t.Run("a set grows under its token", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			small := check.Must[*redislock.Lock](t)(w.Client.As("job").Obtain(t.Context(), w.Keys("a"), world.Long, said("one")))
			large := check.Must[*redislock.Lock](t)(w.Client.As("job").Obtain(t.Context(), w.Keys("a", "b"), 2*world.Long, said("two")))
			for _, key := range w.Keys("a", "b") {
				if got := check.Must[string](t)(w.RDB.Get(t.Context(), key).Result()); got != "job|two" {
					t.Errorf("got value %q of %q, want the new metadata", got, key)
				}
				w.WantTTL(t, key, world.Long, 2*world.Long)
			}
			check.NoError(t, small.Refresh(t.Context(), world.Long)) // by token: the metadata has changed under it
			check.NoError(t, large.Release(t.Context()))
			w.WantFree(t, w.Keys("a", "b")...)
		})
	})

	t.Run("a set shrinks, and nothing stays locked", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			large := check.Must[*redislock.Lock](t)(w.Client.As("job").Obtain(t.Context(), w.Keys("a", "b", "c"), world.Long, nil))
			small := check.Must[*redislock.Lock](t)(w.Client.As("job").Obtain(t.Context(), w.Keys("b"), world.Long, nil))
			check.NoError(t, small.Release(t.Context()))
			w.WantFree(t, w.Key("b"))
			err := large.Release(t.Context())
			check.Is(t, err, redislock.ErrLockNotHeld)
			if got := err.Error(); !strings.Contains(got, fmt.Sprintf("%q", w.Key("b"))) || strings.Contains(got, w.Key("c")) {
				t.Errorf("got error %q, want it to name what was lost and nothing else", got)
			}
			w.WantFree(t, w.Keys("a", "b", "c")...)
		})
	})

	t.Run("growing is all or nothing", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			mine := check.Must[*redislock.Lock](t)(w.Client.As("job").Obtain(t.Context(), w.Keys("a"), world.Long, said("old")))
			other := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("b"), world.Long, nil))
			_, err := w.Client.As("job").Obtain(t.Context(), w.Keys("a", "b", "c"), world.Long, said("new"))
			world.WantConflict(t, err, w.Key("b"), redislock.ModeWrite)
			if got := check.Must[string](t)(w.RDB.Get(t.Context(), w.Key("a")).Result()); got != "job|old" {
				t.Errorf("got value %q, want it unchanged", got)
			}
			w.WantFree(t, w.Key("c"))
			check.NoError(t, mine.Release(t.Context()))
			check.NoError(t, other.Release(t.Context()))
		})
	})

	t.Run("modes change under the token", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			read := check.Must[*redislock.Lock](t)(w.Client.As("job").ObtainRead(t.Context(), w.Keys("a"), world.Long, said("r")))
			write := check.Must[*redislock.Lock](t)(w.Client.As("job").Obtain(t.Context(), w.Keys("a"), world.Long, said("w")))
			_, err := w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil)
			world.WantConflict(t, err, w.Key("a"), redislock.ModeWrite)
			again := check.Must[*redislock.Lock](t)(w.Client.As("job").ObtainRead(t.Context(), w.Keys("a"), world.Long, said("r2")))
			other := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
			check.NoError(t, other.Release(t.Context()))
			check.NoError(t, again.Release(t.Context()))
			check.Is(t, write.Release(t.Context()), redislock.ErrLockNotHeld)
			check.Is(t, read.Release(t.Context()), redislock.ErrLockNotHeld)
			w.WantFree(t, w.Key("a"))
		})
	})
}

func TestAttach(t *testing.T) {
	t.Run("another process releases and refreshes", func(t *testing.T) {
		world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
			lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a"), Read: w.Keys("b")}, world.Long, &redislock.Options{Metadata: "m|x"}))
			handle := redislock.New(w.RDB).Attach(lock.Keys(), lock.Token())
			if !handle.Deadline().IsZero() {
				t.Errorf("got deadline %v of an attached lock, want none", handle.Deadline())
			}
			check.NoError(t, handle.Refresh(t.Context(), 2*world.Long))
			w.WantTTL(t, w.Key("a"), world.Long, 2*world.Long)
			w.WantTTL(t, w.Key("b"), world.Long, 2*world.Long)
			check.NoError(t, handle.Downgrade(t.Context()))
			check.NoError(t, handle.Upgrade(t.Context()))
			if got, want := check.Must[string](t)(w.RDB.Get(t.Context(), w.Key("b")).Result()), lock.Token()+"|m|x"; got != want {
				t.Errorf("got value %q, want it kept: %q", got, want)
			}
			check.NoError(t, handle.Release(t.Context()))
			w.WantFree(t, lock.Keys()...)
			check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		})
	})

	t.Run("bad arguments", func(t *testing.T) { // for which nothing is sent
		world.Scenario(t, func(t *testing.T, w *world.World) {
			check.Is(t, w.Client.Attach(nil, "t").Release(t.Context()), &redislock.InvalidError{Argument: "keys"})
			check.Is(t, w.Client.Attach(w.Keys("a"), "").Refresh(t.Context(), world.Long), &redislock.InvalidError{Argument: "token"})
			_, err := w.Client.Attach(w.Keys("a"), "a|b").TTL(t.Context())
			check.Is(t, err, &redislock.InvalidError{Argument: "token"})
			check.Is(t, w.Client.Attach(w.Keys("a"), "t").Upgrade(t.Context()), &redislock.InvalidError{Argument: "ttl"})
		})
	})
}
