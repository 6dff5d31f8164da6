package fence_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// The numbers of a key that is used now and then are remembered for a day after each use.
func TestFenceIsRemembered(t *testing.T) {
	for name, p := range map[string]world.Part{"write": "AB", "read": "ab"} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				given := make(ledger)
				for range 5 {
					lock := takePart(t, w, p, world.Fenced())
					given.enter(t, lock)
					for _, key := range []string{"a", "b"} {
						if ttl := w.RDB.PTTL(t.Context(), fenceOf(w, key)).Val(); ttl < 24*time.Hour {
							t.Errorf("the numbers of %s are remembered for %v, want a day", key, ttl)
						}
					}
					check.NoError(t, lock.Release(t.Context()))
					time.Sleep(10 * time.Hour)
				}
			})
		})
	}
}

// A reader with a long lease makes the numbers of the key live longer, and leaves those of the others as they are.
func TestFenceBesideLongLease(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		given := make(ledger)
		number := given.enter(t, takeAs(t, w, "job", "a", world.Fenced()))
		const long = 20 * time.Hour
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), long, world.Fenced()))
		given.enter(t, lock)
		if ttl := w.RDB.PTTL(t.Context(), fenceOf(w, "a")).Val(); ttl <= 2*long-world.Slack {
			t.Errorf("the numbers are remembered for %v, want twice the lease of %v", ttl, long)
		}
		wantNumber(t, takeAs(t, w, "job", "a", world.Fenced()), number)
	})
}

// A number goes with its hold. If its token holds the key again without one, and then asks for one, that is a new one.
func TestFenceGoesWithItsHold(t *testing.T) {
	for _, p := range []world.Part{"A", "a", "Ab"} {
		for _, number := range []string{"its own", "its own, beside a line", "another's"} {
			t.Run(p+"/"+number, func(t *testing.T) {
				world.Scenario(t, func(t *testing.T, w *world.World) {
					given := make(ledger)
					var lock *redislock.Lock
					if number == "another's" {
						lock = takePart(t, w, p, world.Fenced())
					} else {
						lock = takeAs(t, w, "job", p, world.Fenced())
					}
					given.enter(t, lock)
					if number == "its own, beside a line" { // which makes the release look at everything
						line := slot.Beside("line", w.Key("a"))
						check.NoError(t, w.RDB.ZAdd(t.Context(), line, redis.Z{Score: 1, Member: "nobody"}).Err())
						check.NoError(t, w.RDB.Expire(t.Context(), line, time.Minute).Err())
					}
					check.NoError(t, lock.Release(t.Context()))
					wantNumber(t, takeAs(t, w, "job", p, nil), 0)
					given.enter(t, takeAs(t, w, "job", p, world.Fenced()))
				})
			})
		}
	}
}
