package script_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// The line of one of the keys is overwritten while somebody waits for the set: the release hands over what it can, and
// takes nobody out of the other lines for nothing.
func TestHandOverBesideSomethingElse(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys := []string{s.key("a"), s.key("b"), s.key("c")}
		for _, key := range keys {
			check.NoError(t, s.rdb.Set(t.Context(), key, "mine", longLease).Err())
		}
		s.enters(t, fakeWaiter{id: "whole", write: keys, place: 1, ttl: longLease}, fakeWaiter{id: "next", write: keys[:1], place: 2, ttl: longLease})
		check.NoError(t, s.rdb.Set(t.Context(), slot.Beside("line", keys[2]), "something else", longLease).Err())
		s.release(t, keys, "mine")
		s.wantMessages(t, "g|whole…")
	})
}

// A message that says when to ask goes to the one who is the first in a line then, not to one who has just left it.
func TestHeadsAreThoseWhoWait(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		l := legacy{waiters: []fakeWaiter{{id: "asks", read: []string{"b", "d"}}, {id: "reads", read: []string{"a", "b"}, ttl: shortLease}}}
		keys := []string{s.key("a"), s.key("b"), s.key("c")}
		for _, key := range keys {
			check.NoError(t, s.rdb.Set(t.Context(), key, "mine", longLease).Err())
		}
		l.enter(t, s)
		s.release(t, keys, "mine")
		s.wantMessages(t, "g|reads…", "w|asks", "h|asks|4000")
		s.wantLine(t, keys[1], "asks")
	})
}

// Somebody has cut off the entry of a waiter at its first key: a script that meets its entry at another key first passes it over,
// and gives the keys to whoever stands behind it.
func TestSpoiledEntryIsPassedOver(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys := []string{s.key("b"), s.key("a")}
		for _, key := range keys {
			check.NoError(t, s.rdb.Set(t.Context(), key, "mine", longLease).Err())
		}
		spoiled := fakeWaiter{id: "spoiled", write: []string{keys[1], keys[0]}, place: 1, ttl: longLease}
		s.enters(t, spoiled, fakeWaiter{id: "next", write: keys[:1], place: 2, ttl: longLease})
		line := slot.Beside("line", keys[1])
		text := spoiled.entry(s, keys[1], time.Now())
		check.NoError(t, s.rdb.ZRemRangeByRank(t.Context(), line, 0, -1).Err())
		check.NoError(t, s.rdb.ZAdd(t.Context(), line, redis.Z{Score: 1, Member: text[:strings.Index(text, "|wp")]}).Err())
		check.NoError(t, s.rdb.PExpire(t.Context(), line, longLease).Err())
		s.release(t, keys, "mine")
		s.wantMessages(t, "w|spoiled")
		s.wantLine(t, keys[0], "spoiled", "next")
	})
}
