package quick_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// DESIGN section 11: TTL of 500 µs, 0 or negative returns a lock without a key; Refresh(0) deletes it
// and answers nil; a TTL that overflows, keys without a TTL for ever.
func TestTTLTable(t *testing.T) {
	const most = 365 * 24 * time.Hour
	rows := map[time.Duration]bool{ // whether it is one that a lock can have
		0: false, -1: false, -time.Hour: false, most + time.Millisecond: false, math.MaxInt64: false, math.MinInt64: false,
		1: false, 30: false, time.Millisecond - 1: false, time.Millisecond: true, 1500 * time.Microsecond: true, most: true,
	}
	world.Scenario(t, func(t *testing.T, w *world.World) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("held"), world.Long, nil))
		for ttl, good := range rows {
			t.Run(ttl.String(), func(t *testing.T) {
				keys := w.Keys(ttl.String()+"a", ttl.String()+"b")
				for _, keys := range [][]string{keys[:1], keys} {
					if !good {
						world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "ttl"}, func() error {
							_, err := w.Client.Obtain(t.Context(), keys, ttl, nil)
							return err
						})
						world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "ttl"}, func() error { return lock.Refresh(t.Context(), ttl) })
						continue
					}
					obtainFor(t, w, keys, ttl)
				}
			})
		}
		// A number without a unit is told what it lacks, and what is left of a time may be a fraction.
		_, err := w.Client.Obtain(t.Context(), w.Keys("a"), 30, nil)
		if want := "30ns is not between 1ms and 8760h0m0s: a number without a unit counts nanoseconds"; !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
		for _, least := range []time.Duration{-1, 30, time.Millisecond - 1} {
			_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{HoldAtLeast: least})
			if err == nil || !strings.Contains(err.Error(), "invalid HoldAtLeast: "+least.String()) {
				t.Errorf("got error %v", err)
			}
		}
		check.NoError(t, lock.Leave(t.Context(), 1))
		check.Eventually(t, time.Second, "the key is free", func() bool {
			return check.Must[int64](t)(w.RDB.Exists(t.Context(), w.Key("held")).Result()) == 0
		})
	})
}

// The keys last for no less than the ttl, so a fraction of a millisecond is rounded up.
func TestTTLIsRoundedUp(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		for name, opt := range map[string]*redislock.Options{"short": nil, "long": {HoldAtLeast: time.Millisecond}} {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys(name), time.Minute+1, opt))
			if got, want := w.RDB.PTTL(t.Context(), w.Key(name)).Val(), time.Minute+time.Millisecond; got != want {
				t.Errorf("%s: got a ttl of %v, want %v", name, got, want)
			}
			check.NoError(t, lock.Release(t.Context()))
		}
	})
}

// obtainFor obtains for a ttl that may be too short to be of use.
func obtainFor(t *testing.T, w *world.World, keys []string, ttl time.Duration) {
	t.Helper()
	lock, err := w.Client.Obtain(t.Context(), keys, ttl, nil)
	switch {
	case err != nil && ttl < time.Second:
		check.Is(t, err, redislock.ErrNotObtained)
	case err != nil:
		t.Errorf("got error %v", err)
	default:
		if left := check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), keys[len(keys)-1]).Result()); left == -1 || left > max(ttl, 2*time.Millisecond) {
			t.Errorf("got ttl %v of the key, want at most %v", left, ttl)
		}
		if err := lock.Release(t.Context()); err != nil && ttl > time.Second {
			t.Errorf("release: %v", err)
		}
	}
	check.Eventually(t, time.Second, "no key is left", func() bool {
		return check.Must[int64](t)(w.RDB.Exists(t.Context(), keys...).Result()) == 0
	})
}

// The lease of a set is over with that of its first key to go.
func TestTTLIsTheLeast(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a", "b"), Read: w.Keys("c")}, world.Long, nil))
		for _, name := range []string{"b", "c", "a"} {
			part := w.Client.Attach(w.Keys(name), lock.Token())
			for _, ttl := range []time.Duration{world.Long / 4, 4 * world.Long} {
				check.NoError(t, part.Refresh(t.Context(), ttl))
				if got := check.Must[time.Duration](t)(lock.TTL(t.Context())); got > min(ttl, world.Long) || got < min(ttl, world.Long)-world.Slack {
					t.Errorf("got ttl %v, want that of %s or of the others, %v", got, name, min(ttl, world.Long))
				}
			}
			check.NoError(t, part.Refresh(t.Context(), world.Long))
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}
