package script_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// The first of all places is 1: a waiter that says it has waited since before all time stands there, whatever its line holds.
func TestFirstOfAllPlaces(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for name, prepare := range map[string]func(key string){
			"an empty line": func(string) {},
			"a guard":       func(key string) { s.setGuard(t, key, "other", 100, 1) },
			"a waiter": func(key string) {
				s.enters(t, fakeWaiter{id: "other", write: []string{key}, place: 7, ttl: longLease})
			},
		} {
			key := s.key(name)
			check.NoError(t, s.rdb.Set(t.Context(), key, "holder", longLease).Err())
			prepare(key)
			q := fakeWaiter{id: "waiter", write: []string{key}, ttl: longLease}.waiterOf(s, proto.Place{})
			q.Waiter.Age = 200 * 365 * 24 * time.Hour
			if got := s.play(t, q, owners.Stamp{}, ""); got.at(0) != int64(inLine) || got.at(5) != int64(1) {
				t.Errorf("%s: got %v, want the place 1", name, got.reply)
			}
		}
	})
}

// The TTL of a line is renewed once in a second: not if the last waiter has come in this one, also if that was later by a clock
// that has been set back.
func TestLineIsRenewedOnceASecond(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		second := time.Now().Unix() * 1_000_000
		for after, renewed := range map[int64]bool{-1: true, 0: false, 500_000: false, 999_999: false, 1_000_000: true} {
			keys := []string{s.key(fmt.Sprint("a", after)), s.key(fmt.Sprint("b", after))}
			for _, key := range keys {
				check.NoError(t, s.rdb.Set(t.Context(), key, "holder", longLease).Err())
			}
			s.enters(t, fakeWaiter{id: "other", write: keys, place: second + after, ttl: longLease})
			q := fakeWaiter{id: "waiter", write: keys, ttl: longLease}.waiterOf(s, proto.Place{})
			got := s.play(t, q, owners.Stamp{}, clockAt(second+600_000))
			for _, key := range keys {
				if done := len(got.those("pexpire "+slot.Beside("line", key))) > 0; got.at(0) != int64(inLine) || done != renewed {
					t.Errorf("the last came %d µs after the second began: got %v, and the line is renewed: %t", after, got.reply, done)
				}
			}
		}
	})
}
