package redislock

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A request without a stamp is the first one of its token, where it has its line at hand.
func TestGuardOvertakesWithoutStamp(t *testing.T) {
	t.Parallel()
	staged(t, func(t *testing.T, s *stage) {
		for name, w := range s.writers() {
			if !w.script.lined {
				continue
			}
			key := s.key(name)
			check.NoError(t, s.rdb.Set(t.Context(), key, "mine", 10*time.Minute).Err())
			s.setGuard(t, key, "mine", 100, 1)
			before := s.dump(t, key)
			reply, err := s.send(t, w, key, "mine", "", "")
			check.NoError(t, err)
			if after := s.dump(t, key); reply != int64(overtaken) || after != before {
				t.Errorf("%s: got reply %v, and\n%s, want overtaken, and\n%s", name, reply, after, before)
			}
		}
	})
}

// A late release hands nothing over, not even to a single writer who hears it. One that is not late does, also
// beside guards of others.
func TestGuardOvertakesHandOver(t *testing.T) {
	t.Parallel()
	staged(t, func(t *testing.T, s *stage) {
		for _, guard := range []string{"id", "other"} {
			key := s.key("guard of " + guard)
			release := func(stamp string, want int64) {
				t.Helper()
				reply, err := s.send(t, s.writers()["release"], key, "mine", stamp, "")
				check.NoError(t, err)
				if reply != want {
					t.Fatalf("%s: got reply %v, want %v", stamp, reply, want)
				}
			}
			check.NoError(t, s.rdb.Set(t.Context(), key, "mine", 10*time.Minute).Err())
			s.enters(t, figure{id: "next", write: []string{key}, place: 7, ttl: time.Minute})
			s.setGuard(t, key, guard, 100, 3)
			if guard == "id" {
				release("1|id|2|", overtaken)
			}
			s.wantLine(t, key, "next", guard)
			release("1|id|3|", 1)
			s.wantLine(t, key, guard)
			if got := s.rdb.Get(t.Context(), key).Val(); got != "token-next|next" {
				t.Errorf("got %q, want that the key was handed over", got)
			}
		}
	})
}

// Guards that have ended do not gather in a line that is never empty, and no guard makes the line live shorter.
func TestGuardsEndInABusyLine(t *testing.T) {
	t.Parallel()
	staged(t, func(t *testing.T, s *stage) {
		for name, stamp := range map[string]string{"queue": "", "refresh": "1|id|1|id|1|LINE|"} {
			key := s.key(name)
			check.NoError(t, s.rdb.Set(t.Context(), key, "other", 10*time.Minute).Err())
			s.enters(t, figure{id: "somebody", write: []string{key}, place: 7, ttl: time.Minute})
			s.setGuard(t, key, "token-of-others", 100, 1)
			for i := range 3 {
				s.setGuard(t, key, fmt.Sprint("ended ", i), int64(-i-1), 1)
			}
			_, err := s.send(t, s.writers()[name], key, "mine", stamp, flag(stamp != ""))
			check.NoError(t, err)
			want := map[string]int64{"token-of-others": 1}
			if stamp != "" {
				want["id"] = 1
			}
			s.wantGuards(t, key, want)
			if ttl := s.rdb.PTTL(t.Context(), lineOf(key)).Val(); ttl < time.Hour/2 {
				t.Errorf("%s: the line lives %v, and had an hour", name, ttl)
			}
		}
	})
}

// An owner is not forgotten as long as a guard of its may stand: with a new id it could not tell the late from
// the new.
func TestStampIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, true)
		lost, next := d.call("obtain", "a"), d.call("obtain", "a")
		d.sends(lost, "1|id|0|")
		d.ends(lost, refused("ERR upstream failure"))
		if d.isIdle() {
			t.Error("what was not answered is forgotten at once")
		}
		d.sends(next, "1|id|1|id|1|2|")
		d.ends(next, int64(1))
		d.wantNothingKept()
		time.Sleep(guardLife - time.Second)
		if d.isIdle() {
			t.Error("it is forgotten while a guard may stand")
		}
		time.Sleep(2 * time.Second)
		if !d.isIdle() {
			t.Error("it is not forgotten")
		}
	})
}

// What a release has left to another Obtain of its token is freed as soon as nobody counts on it any more.
func TestGuardSparedIsFreedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redistest.PipeMini(t).Client(t)
		client := New(rdb)
		defer client.Close()
		lock, err := client.Obtain(t.Context(), []string{"a", "b"}, time.Hour, &Options{Token: "mine"})
		check.NoError(t, err)
		w := ownerOf("mine")
		defer w.done("mine")
		var claimed *claim
		rdb.AddHook(check.Around(func(cmd redis.Cmder, send func() error) error {
			if claimed != nil || !check.RunIn(cmd).Of("release") {
				return send()
			}
			claimed = w.stake(client, []string{"b"}, nil) // an Obtain begins, and overtakes the release
			cmd.(interface{ SetVal(any) }).SetVal(int64(overtaken))
			return nil
		}))
		check.NoError(t, lock.Release(t.Context()))
		left := func() [2]int64 {
			return [2]int64{rdb.Exists(t.Context(), "a").Val(), rdb.Exists(t.Context(), "b").Val()}
		}
		if got := left(); got != [2]int64{0, 1} {
			t.Errorf("got %v, want that what the other counts on is left to it", got)
		}
		time.Sleep(10 * time.Minute)
		if got := left(); got != [2]int64{0, 1} {
			t.Errorf("got %v, want that it is left as long as it is counted on", got)
		}
		w.waive(claimed)
		time.Sleep(lastClear + time.Second)
		if got := left(); got != [2]int64{0, 0} {
			t.Errorf("got %v, want nothing left", got)
		}
	})
}

// A clean-up that might set no guard is done again, until it may, or the lease is over.
func TestGuardCleanUpGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redistest.PipeMini(t).Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
		client := New(rdb)
		defer client.Close()
		var cleanUps atomic.Int32
		rdb.AddHook(check.Around(func(cmd redis.Cmder, _ func() error) error {
			if !check.RunIn(cmd).Of("release") {
				cmd.SetErr(io.EOF)
				return io.EOF
			}
			answer := []any{int64(1), "open"}
			if cleanUps.Add(1) > 3 {
				answer = answer[:1]
			}
			cmd.(interface{ SetVal(any) }).SetVal(answer)
			return nil
		}))
		_, err := client.Obtain(t.Context(), []string{"a"}, time.Hour, nil)
		check.Is(t, err, ErrUnknownOutcome)
		time.Sleep(time.Hour / 2)
		if n := cleanUps.Load(); n != 4 {
			t.Errorf("it was cleaned up %d times, want 4: until a guard was set", n)
		}
	})
}
