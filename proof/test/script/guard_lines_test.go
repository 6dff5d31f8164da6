package script_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A request without a stamp is the first one of its token, where it has its line at hand.
func TestGuardOvertakesWithoutStamp(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for name, w := range s.writers() {
			if name == "raise" { // which asks for the guard only where it has a stamp
				continue
			}
			key := s.key(name)
			check.NoError(t, s.rdb.Set(t.Context(), key, "mine", 10*time.Minute).Err())
			s.setGuard(t, key, "mine", 100, 1)
			before := s.dump(t, key)
			reply, err := s.write(t, w, key, "mine", owners.Stamp{})
			check.NoError(t, err)
			if after := s.dump(t, key); reply != int64(overtaken) || after != before {
				t.Errorf("%s: got reply %v, and\n%s, want overtaken, and\n%s", name, reply, after, before)
			}
		}
	})
}

// A late release hands nothing over, not even to a single writer that has subscribed. One that is not late does, also
// beside guards of others.
func TestGuardOvertakesHandOver(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, guard := range []string{"id", "other"} {
			key := s.key("guard of " + guard)
			release := func(number, want int64) {
				t.Helper()
				reply, err := s.write(t, s.writers()["release"], key, "mine", stampOf(number, key))
				check.NoError(t, err)
				if reply != want {
					t.Fatalf("%d: got reply %v, want %v", number, reply, want)
				}
			}
			check.NoError(t, s.rdb.Set(t.Context(), key, "mine", 10*time.Minute).Err())
			s.enters(t, fakeWaiter{id: "next", write: []string{key}, place: 7, ttl: time.Minute})
			s.setGuard(t, key, guard, 100, 3)
			if guard == "id" {
				release(2, overtaken)
			}
			s.wantLine(t, key, "next", guard)
			release(3, 1)
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
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, name := range []string{"queue", "refresh"} {
			key := s.key(name)
			var stamp owners.Stamp
			if name == "refresh" {
				stamp = stampOf(1, key, "id")
			}
			check.NoError(t, s.rdb.Set(t.Context(), key, "other", 10*time.Minute).Err())
			s.enters(t, fakeWaiter{id: "somebody", write: []string{key}, place: 7, ttl: time.Minute})
			s.setGuard(t, key, "token-of-others", 100, 1)
			for i := range 3 {
				s.setGuard(t, key, fmt.Sprint("ended ", i), int64(-i-1), 1)
			}
			_, err := s.write(t, s.writers()[name], key, "mine", stamp)
			check.NoError(t, err)
			want := map[string]int64{"token-of-others": 1}
			if stamp.Numbered {
				want["id"] = 1
			}
			s.wantGuards(t, key, want)
			if ttl := s.rdb.PTTL(t.Context(), slot.Beside("line", key)).Val(); ttl < time.Hour/2 {
				t.Errorf("%s: the line lives %v, and had an hour", name, ttl)
			}
		}
	})
}
