package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// holds has a token write keys.
func (s *fixture) holds(t *testing.T, value string, keys ...string) {
	t.Helper()
	pipe := s.rdb.Pipeline()
	for _, key := range keys {
		pipe.Set(t.Context(), key, value, longLease)
	}
	_, err := pipe.Exec(t.Context())
	check.NoError(t, err)
}

// keysOf are the keys that all commands of one kind were given, in order.
func (p played) keysOf(command string) (keys []string) {
	for _, all := range p.those(command) {
		keys = append(keys, strings.Fields(all)[1:]...)
	}
	return keys
}

// Whichever of very many keys is held, a set is not taken.
func TestAnyOfManyKeysIsInTheWay(t *testing.T) {
	t.Parallel()
	withServer(t, func(t *testing.T, s *fixture) {
		keys, mine := numbered(s.prefix, 2500), "mine"
		for _, i := range []int{0, 998, 999, 1000, 1001, 1998, 1999, 2000, 2499} {
			s.holds(t, "other", keys[i])
			got := s.play(t, &proto.Obtain{Set: lockKeys(keys, nil), Value: &mine, TTL: longLease}, owners.Stamp{}, "")
			if got.at(0) != int64(proto.Refused) || got.at(1) != int64(i+1) {
				t.Errorf("key %d is held: got %v, want that it is in the way", i+1, got.reply)
			}
			check.NoError(t, s.rdb.Del(t.Context(), keys[i]).Err())
		}
	})
}

// Where only a line is there beside many keys, wherever that stands, none of the keys is read.
func TestLineOfManyIsNoKey(t *testing.T) {
	t.Parallel()
	withServer(t, func(t *testing.T, s *fixture) {
		for _, i := range []int{398, 399, 400, 401} {
			keys, value := numbered(s.key(fmt.Sprint(i, " ")), 600), "mine"
			s.setGuard(t, keys[i], "other", 100, 1)
			q := &proto.Obtain{Set: lockKeys(nil, keys), Value: &value, TTL: longLease, Intents: intentsOf(keys)}
			got := s.play(t, q, stampOf(1, keys[0], "id"), "")
			if read := got.keysOf("mget"); got.reply != int64(1) || len(read) > 0 {
				t.Errorf("a line beside key %d: got %v, and %d keys were read", i+1, got.reply, len(read))
			}
		}
	})
}

// However many keys a script has, it asks for each once, and for nothing else that stands beside it; and it deletes each once.
func TestEachKeyOnce(t *testing.T) {
	t.Parallel()
	withServer(t, func(t *testing.T, s *fixture) {
		for _, n := range []int{2, 999, 1000, 1001, 9000} {
			keys, value := numbered(s.key(fmt.Sprint(n, "/")), n), "mine|new"
			s.holds(t, "mine|before", keys...)
			got := s.play(t, proto.Refresh{Set: lockKeys(keys, nil), Value: &value, TTL: longLease}, owners.Stamp{}, "")
			if read := got.keysOf("mget"); got.reply != int64(1) || !slices.Equal(read, keys) {
				t.Errorf("a refresh of %d keys: got %v, and %d were read", n, got.reply, len(read))
			}
			s.setGuard(t, keys[0], "id", 100, 1)
			got = s.play(t, &proto.Release{Set: lockKeys(keys, nil), Value: &value}, stampOf(1, keys[0], "id"), "")
			if deleted := got.keysOf("del"); got.reply != int64(1) || !slices.Equal(deleted, keys) {
				t.Errorf("a release of %d keys: got %v, and %d were deleted", n, got.reply, len(deleted))
			}
		}
	})
}

// A line that a script has emptied while it looked at who stands first lives as long as a guard may stand there; another one
// keeps its TTL, be that over in this ms.
func TestWhoStandsFirstIsPutBack(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, alone := range []bool{true, false} {
			keys, value := []string{s.key(fmt.Sprint("a", alone)), s.key(fmt.Sprint("b", alone))}, "mine"
			line := slot.Beside("line", keys[1])
			s.holds(t, value, keys...)
			first := fakeWaiter{id: "first", write: keys[1:], place: 1, ttl: longLease}
			s.enters(t, first, fakeWaiter{id: "set", write: keys, place: 2, ttl: longLease})
			replies := restOf(line, 0)
			if alone {
				replies = ""
				check.NoError(t, s.rdb.ZRemRangeByRank(t.Context(), line, 1, -1).Err())
			}
			got := s.play(t, &proto.Release{Set: lockKeys(keys, nil), Value: &value}, owners.Stamp{}, replies)
			var want []string
			if alone {
				want = []string{fmt.Sprintf("pexpire %s %d", line, (301 * time.Second).Milliseconds())}
			}
			if len(got.those("zpopmin")) != 1 || !slices.Equal(got.those("pexpire "+line), want) {
				t.Errorf("alone: %t: got %q, want %q", alone, got.commands, want)
			}
		}
	})
}
