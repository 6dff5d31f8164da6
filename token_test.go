package redislock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
)

// Lessons: token job-1 takes the lock of job-10; a set cannot grow under its own token; a subset
// obtained anew orphans the rest.
func TestToken(t *testing.T) {
	own := func(token, metadata string) *redislock.Options {
		return &redislock.Options{Token: token, Metadata: metadata}
	}
	t.Run("whole tokens are compared", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, own("job-10", "")))
			for _, other := range []string{"job-1", "job-100", "job-10x", "JOB-10"} {
				_, err := w.client.Obtain(t.Context(), w.keys("a"), long, own(other, ""))
				wantConflict(t, err, w.key("a"), redislock.ModeWrite)
				_, err = w.client.ObtainRead(t.Context(), w.keys("a"), long, own(other, ""))
				wantConflict(t, err, w.key("a"), redislock.ModeWrite)
				wantIs(t, w.client.Attach(w.keys("a"), other).Release(t.Context()), redislock.ErrLockNotHeld)
				wantIs(t, w.client.Attach(w.keys("a"), other).Refresh(t.Context(), long), redislock.ErrLockNotHeld)
			}
			noError(t, lock.Release(t.Context()))
		})
	})

	t.Run("a set grows under its token", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			small := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, own("job", "one")))
			large := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), 2*long, own("job", "two")))
			for _, key := range w.keys("a", "b") {
				if got := must[string](t)(w.rdb.Get(t.Context(), key).Result()); got != "job|two" {
					t.Errorf("got value %q of %q, want the new metadata", got, key)
				}
				w.wantTTL(t, key, long, 2*long)
			}
			noError(t, small.Refresh(t.Context(), long)) // by token: the metadata has changed under it
			noError(t, large.Release(t.Context()))
			w.wantFree(t, w.keys("a", "b")...)
		})
	})

	t.Run("a set shrinks, and nothing is orphaned", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			large := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b", "c"), long, own("job", "")))
			small := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, own("job", "")))
			noError(t, small.Release(t.Context()))
			w.wantFree(t, w.key("b"))
			err := large.Release(t.Context())
			wantIs(t, err, redislock.ErrLockNotHeld)
			if got := err.Error(); !strings.Contains(got, fmt.Sprintf("%q", w.key("b"))) || strings.Contains(got, w.key("c")) {
				t.Errorf("got error %q, want it to name what was lost and nothing else", got)
			}
			w.wantFree(t, w.keys("a", "b", "c")...)
		})
	})

	t.Run("growing is all or nothing", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			mine := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, own("job", "old")))
			other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), long, nil))
			_, err := w.client.Obtain(t.Context(), w.keys("a", "b", "c"), long, own("job", "new"))
			wantConflict(t, err, w.key("b"), redislock.ModeWrite)
			if got := must[string](t)(w.rdb.Get(t.Context(), w.key("a")).Result()); got != "job|old" {
				t.Errorf("got value %q, want it unchanged", got)
			}
			w.wantFree(t, w.key("c"))
			noError(t, mine.Release(t.Context()))
			noError(t, other.Release(t.Context()))
		})
	})

	t.Run("modes change under the token", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			read := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, own("job", "r")))
			write := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, own("job", "w")))
			_, err := w.client.ObtainRead(t.Context(), w.keys("a"), long, nil)
			wantConflict(t, err, w.key("a"), redislock.ModeWrite)
			again := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, own("job", "r2")))
			other := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			noError(t, other.Release(t.Context()))
			noError(t, again.Release(t.Context()))
			wantIs(t, write.Release(t.Context()), redislock.ErrLockNotHeld)
			wantIs(t, read.Release(t.Context()), redislock.ErrLockNotHeld)
			w.wantFree(t, w.key("a"))
		})
	})
}

func TestAttach(t *testing.T) {
	t.Run("another process releases and refreshes", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), w.keys("a"), w.keys("b"), long, &redislock.Options{Metadata: "m|x"}))
			handle := redislock.New(w.rdb).Attach(lock.Keys(), lock.Token())
			if !handle.Deadline().IsZero() {
				t.Errorf("got deadline %v of an attached lock, want none", handle.Deadline())
			}
			noError(t, handle.Refresh(t.Context(), 2*long))
			w.wantTTL(t, w.key("a"), long, 2*long)
			w.wantTTL(t, w.key("b"), long, 2*long)
			noError(t, handle.Downgrade(t.Context()))
			noError(t, handle.Upgrade(t.Context()))
			if got, want := must[string](t)(w.rdb.Get(t.Context(), w.key("b")).Result()), lock.Token()+"|m|x"; got != want {
				t.Errorf("got value %q, want it kept: %q", got, want)
			}
			noError(t, handle.Release(t.Context()))
			w.wantFree(t, lock.Keys()...)
			wantIs(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		})
	})

	t.Run("bad arguments", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			wantIs(t, w.client.Attach(nil, "t").Release(t.Context()), redislock.ErrInvalidKeys)
			wantIs(t, w.client.Attach(w.keys("a"), "").Refresh(t.Context(), long), redislock.ErrInvalidToken)
			_, err := w.client.Attach(w.keys("a"), "a|b").TTL(t.Context())
			wantIs(t, err, redislock.ErrInvalidToken)
			wantIs(t, w.client.Attach(w.keys("a"), "t").Upgrade(t.Context()), redislock.ErrInvalidTTL)
		})
	})
}
