package fence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Numbers grow also without those that were given before, as long as the clock does not go back.
func TestFenceNumbersLost(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		given := make(ledger)
		forget := func() {
			check.NoError(t, w.RDB.Del(t.Context(), fenceOf(w, "a"), fenceOf(w, "b"), fenceOf(w, "c")).Err())
		}
		for range 3 {
			for _, p := range rounds {
				lock := takeAs(t, w, "job", p, world.Fenced())
				number := given.enter(t, lock)
				forget()
				given.enter(t, takeAs(t, w, "job", p, world.Fenced())) // nobody knows its number any more
				wantNumber(t, lock, number)
				forget()
				check.NoError(t, lock.Upgrade(t.Context()))
				given.enter(t, lock)
				check.NoError(t, lock.Downgrade(t.Context()))
				forget()
				check.NoError(t, lock.Release(t.Context()))
			}
		}
	})
}

// clocks runs a scenario on servers whose clock can be set: so far ahead of where it was first.
func clocks(t *testing.T, fn func(t *testing.T, w *world.World, set func(time.Duration))) {
	t.Helper()
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		server, clock := redistest.StartSkewed(t, kind)
		fn(t, world.New(t, server), clock.Shift)
	})
	t.Run("miniredis, standing still", func(t *testing.T) {
		t.Parallel()
		mini := redistest.StartMini(t)
		began := time.Now()
		set := func(d time.Duration) { mini.Miniredis().SetTime(began.Add(d)) }
		set(0)
		fn(t, world.New(t, mini), set)
	})
}

// Numbers grow also while the clock goes back, as long as those that were given are stored.
func TestFenceClockGoesBack(t *testing.T) {
	clocks(t, func(t *testing.T, w *world.World, set func(time.Duration)) {
		given := make(ledger)
		for _, ahead := range []time.Duration{
			0, -time.Hour, 0, time.Hour, -time.Hour, time.Second, 0, -time.Millisecond, fenceLife + time.Hour, 0, -fenceLife,
		} {
			set(ahead)
			for _, p := range rounds {
				lock := takePart(t, w, p, world.Fenced())
				number := given.enter(t, lock)
				check.NoError(t, lock.Upgrade(t.Context()))
				if p == strings.ToUpper(p) {
					wantNumber(t, lock, number)
				} else {
					number = given.enter(t, lock)
				}
				for _, state := range check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), lock.Keys())) {
					if state.Fence != number {
						t.Fatalf("Inspect shows number %d of %q, want %d", state.Fence, state.Key, number)
					}
				}
				check.NoError(t, lock.Release(t.Context()))
			}
		}
	})
}

// The clock goes back between the turns of a line.
func TestFenceClockGoesBackInLine(t *testing.T) {
	clocks(t, func(t *testing.T, w *world.World, set func(time.Duration)) {
		given := make(ledger)
		turns := make(chan world.Turn, 9)
		set(time.Hour)
		opt := world.Fenced()
		opt.Queue = true
		inside := []*redislock.Lock{takePart(t, w, "AB", opt)}
		given.enter(t, inside[0])
		line := []world.Part{"A", "AB", "a", "B"}
		for i, p := range line {
			set(time.Hour + time.Duration(i)*3*time.Second) // the clock goes on, and a place is that of the arrival
			w.StandWith(t.Context(), t, turns, p, p, opt)
		}
		set(0)
		for _, next := range [][]world.Part{{"A"}, {"AB"}, {"a", "B"}} {
			for _, lock := range inside {
				check.NoError(t, lock.Release(t.Context()))
			}
			inside = world.WantTurn(t, turns, next...)
			if n := given.together(t, inside); n != len(next) {
				t.Fatalf("%d of %q have a number", n, next)
			}
		}
		for _, lock := range inside {
			check.NoError(t, lock.Release(t.Context()))
		}
	})
}

// A set that a token has obtained in parts has one number: that counts for each of its keys.
func TestFenceOfPartsWhenClockGoesBack(t *testing.T) {
	clocks(t, func(t *testing.T, w *world.World, set func(time.Duration)) {
		given := make(ledger)
		given.enter(t, takeAs(t, w, "job", "A", world.Fenced()))
		set(10 * time.Second)
		given.enter(t, takeAs(t, w, "job", "B", world.Fenced()))
		whole := takeAs(t, w, "job", "AB", world.Fenced())
		for _, key := range whole.Keys() {
			if whole.Fence() < given[key] {
				t.Fatalf("got number %d for %q, after %d", whole.Fence(), key, given[key])
			}
			given[key] = whole.Fence()
		}
		set(-time.Hour)
		check.NoError(t, whole.Release(t.Context()))
		given.enter(t, takePart(t, w, "A", world.Fenced()))
	})
}

// The number of a hold stays with it as long as it is used.
func TestFenceOfLongHold(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, w *world.World, lock *redislock.Lock) *redislock.Lock{
		"obtained again": func(t *testing.T, w *world.World, _ *redislock.Lock) *redislock.Lock {
			t.Helper()
			opt := world.Fenced()
			opt.Watchdog = true
			return check.Must[*redislock.Lock](t)(w.Client.As("job").Obtain(t.Context(), w.Keys("a"), time.Hour, opt))
		},
		"downgraded": func(t *testing.T, _ *world.World, lock *redislock.Lock) *redislock.Lock {
			t.Helper()
			check.NoError(t, lock.Downgrade(t.Context()))
			return lock
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				opt := world.Fenced()
				opt.Watchdog = true
				lock := check.Must[*redislock.Lock](t)(w.Client.As("job").Obtain(t.Context(), w.Keys("a"), time.Hour, opt))
				number := lock.Fence()
				for range 5 {
					time.Sleep(10 * time.Hour)
					lock = use(t, w, lock)
					wantNumber(t, lock, number)
				}
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}
