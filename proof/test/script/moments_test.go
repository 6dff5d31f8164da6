package script_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// readerAt has somebody read a key whose lease ends at this ms.
func (s *fixture) readerAt(t *testing.T, key, value string, ms int64) {
	t.Helper()
	check.NoError(t, s.rdb.ZAdd(t.Context(), key, redis.Z{Score: float64(ms), Member: value}).Err())
	check.NoError(t, s.rdb.PExpire(t.Context(), key, longLease).Err())
}

// A sorted set that ends with the last of its members, give or take a second, is a set of readers, which a Break takes. Another
// one is somebody else's, and stays.
func TestBreakTakesWhatEndsWithItsLast(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		const now, rest = int64(2_500_000_000_000), int64(5000)
		for _, c := range []struct {
			by    int64 // for how much longer the last member has its lease
			taken bool
		}{{-1000, false}, {-999, true}, {0, true}, {999, true}, {1000, false}} {
			key, value := s.key(fmt.Sprint(c.by)), "breaker"
			s.readerAt(t, key, "reader|of theirs", now+rest+c.by)
			q := proto.Break{Set: fencedKeys(key), Value: &value}
			got := s.play(t, q, owners.Stamp{}, clockAt(1000*now)+restOf(key, rest))
			if taken := s.rdb.Exists(t.Context(), key).Val() == 0; taken != c.taken || taken != (got.at(1) == int64(1) && got.at(2) == "read") {
				t.Errorf("it ends %d ms before its last member: got %v, and it is taken: %t, want %t", c.by, got.reply, taken, c.taken)
			}
		}
	})
}

// In the last ms of its TTL a key is still there, and whose it is: a Break leaves what is somebody else's, and tells who has lost
// what it takes.
func TestBreakInTheLastMoment(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		const now = int64(2_500_000_000_000)
		foreign, read, value := s.key("foreign"), s.key("read"), "breaker"
		check.NoError(t, s.rdb.RPush(t.Context(), foreign, "somebody else's").Err())
		check.NoError(t, s.rdb.Expire(t.Context(), foreign, longLease).Err())
		got := s.play(t, proto.Break{Set: fencedKeys(foreign), Value: &value}, owners.Stamp{}, clockAt(1000*now)+restOf(foreign, 0))
		if got.at(2) != "foreign" || s.rdb.Exists(t.Context(), foreign).Val() == 0 {
			t.Errorf("got %v for something else, want that it is left", got.reply)
		}
		s.readerAt(t, read, "reader|of theirs", now+500)
		got = s.play(t, proto.Break{Set: fencedKeys(read), Value: &value}, owners.Stamp{}, clockAt(1000*now)+restOf(read, 0))
		if got.at(3) != "of theirs" || got.at(4) != int64(500) {
			t.Errorf("got %v for a reader, want who has lost it", got.reply)
		}
	})
}

// What is no value of this library is somebody else's, whatever stands beside it in a sorted set.
func TestNoValueIsForeign(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		key, mine, ends := s.key("a"), "mine", time.Now().Add(longLease).UnixMilli()
		s.readerAt(t, key, strings.Repeat("x", proto.MaxToken+1), ends)
		want := func(name string, q proto.Request, stamp owners.Stamp, at int) {
			t.Helper()
			got := s.play(t, q, stamp, restOf(key, longLease.Milliseconds()))
			if got.at(at) != "foreign" || s.rdb.Exists(t.Context(), key).Val() == 0 {
				t.Errorf("%s: got %v, want that it is something else", name, got.reply)
			}
		}
		set := lockKeys([]string{key}, nil)
		want("break", proto.Break{Set: fencedKeys(key), Value: &mine}, owners.Stamp{}, 2)
		want("obtain", &proto.Obtain{Set: set, Value: &mine, TTL: longLease}, stampOf(1, key, "id"), 2)
		want("inspect", proto.Inspect{
			Key: key, Line: set.Lines[0], Intent: slot.Beside("intent", key), Fence: slot.Beside("fence", key),
		}, owners.Stamp{}, 0)
	})
}

// A lease that ends in this ms has ended: a writer is not told whose it was.
func TestLeaseEndsInItsMoment(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		const now = int64(2_500_000_000_000)
		for left, want := range map[int64]string{0: "", 1: "of theirs"} {
			key, mine := s.key(fmt.Sprint(left)), "mine"
			s.readerAt(t, key, "reader|of theirs", now+left)
			q := &proto.Obtain{Set: lockKeys([]string{key}, nil), Value: &mine, TTL: longLease}
			got := s.play(t, q, stampOf(1, key, "id"), clockAt(1000*now))
			if got.at(2) != "read" || got.at(4) != want {
				t.Errorf("%d ms are left: got %v, want %q in the way", left, got.reply, want)
			}
		}
	})
}

// On some servers the clock goes on in a script: a key that ends while it is looked at is free.
func TestKeyEndsWhileItIsLookedAt(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		key, mine := s.key("a"), "mine"
		check.NoError(t, s.rdb.Set(t.Context(), key, "other", longLease).Err())
		q := &proto.Obtain{Set: lockKeys([]string{key}, nil), Value: &mine, TTL: longLease}
		ends := fmt.Sprintf("if command == 'pttl' and key == %q then server.call('del', key) end", key)
		got := s.play(t, q, stampOf(1, key, "id"), ends)
		if holder := s.rdb.Get(t.Context(), key).Val(); got.reply != int64(1) || holder != mine {
			t.Errorf("got %v, and the key holds %q, want that it was taken", got.reply, holder)
		}
	})
}

// A token that a caller has chosen is looked for among the readers, not among the moments at which their leases end.
func TestTokenIsNoMoment(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		key, ends := s.key("a"), time.Now().Add(longLease).UnixMilli()
		token := fmt.Sprint(ends)
		s.readerAt(t, key, "first", ends)
		s.readerAt(t, key, "second", ends)
		q := &proto.Obtain{Set: lockKeys(nil, []string{key}), Value: &token, TTL: longLease, Intents: []string{slot.Beside("intent", key)}}
		got := s.play(t, q, owners.Stamp{Known: true}, "")
		if readers := s.rdb.ZCard(t.Context(), key).Val(); got.reply != int64(1) || readers != 3 {
			t.Errorf("got %v, and %d readers, want that it reads the key beside the others", got.reply, readers)
		}
	})
}
