package script_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A writer that is refused and will not ask again withdraws its intents, and nobody else's.
func TestRefusedWriterWithdrawsItsIntents(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys, intents, mine := []string{s.key("a"), s.key("b")}, []string(nil), "mine|again"
		for i, holder := range []string{"mine|before", "other"} {
			intents = append(intents, slot.Beside("intent", keys[i]))
			check.NoError(t, s.rdb.Set(t.Context(), intents[i], holder, longLease).Err())
		}
		check.NoError(t, s.rdb.Set(t.Context(), keys[0], "other", longLease).Err())
		s.ask(t, &proto.Obtain{Set: lockKeys(keys, nil), Value: &mine, TTL: longLease, Declares: true, Intents: intents})
		if own, others := s.rdb.Exists(t.Context(), intents[0]).Val(), s.rdb.Get(t.Context(), intents[1]).Val(); own != 0 || others != "other" {
			t.Errorf("%d of its intents are left, and that of another is %q", own, others)
		}
	})
}

// Only a token that looks as if the library had made it tells when it was made. One that a caller has chosen tells nothing.
func TestSinceOfTokens(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		const made = "AlQ3xT9kAAAAAAAAAAAAAAAAAAAAAA"
		for token, want := range map[string]string{
			made: made[:8], made[:29]: "", made + "A": "", "Anna-Maria": "", made[:29] + ".": "",
			made[:20] + " " + made[21:]: "", "B" + made[1:]: "",
		} {
			key := s.key(token)
			check.NoError(t, s.rdb.Set(t.Context(), key, token+"|metadata", longLease).Err())
			got := s.play(t, proto.Inspect{
				Key: key, Line: slot.Beside("line", key), Intent: slot.Beside("intent", key), Fence: slot.Beside("fence", key),
			}, owners.Stamp{}, "")
			if got.at(10) != want {
				t.Errorf("%q: got %v, want that it was made at %q", token, got.reply, want)
			}
		}
	})
}

// Where somebody has overwritten the number of a reader, it is given the one to which it is raised, be that the least.
func TestRaiseOverSomethingElse(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		key, mine := s.key("a"), "mine"
		fence := slot.Beside("fence", key)
		s.readerAt(t, key, mine, time.Now().Add(longLease).UnixMilli())
		check.NoError(t, s.rdb.HSet(t.Context(), fence, mine, "no number").Err())
		s.ask(t, proto.Raise{Set: fencedKeys(key), Value: &mine, TTL: longLease, Number: 1})
		if got := s.rdb.HGet(t.Context(), fence, mine).Val(); got != "1" {
			t.Errorf("got the number %q, want 1", got)
		}
	})
}

// What stands in a line under the id of an owner is its guard only if its score says so: it has no number otherwise.
func TestNoGuardHasNoNumber(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, below := range []float64{1, 2, 1 << 20} {
			key, mine := s.key("a"), "mine"
			line := slot.Beside("line", key)
			check.NoError(t, s.rdb.Set(t.Context(), key, mine, longLease).Err())
			check.NoError(t, s.rdb.ZAdd(t.Context(), line, redis.Z{Score: 1<<52 - below, Member: "other"}).Err())
			r := runOf(s.writers()["refresh"](key, &mine), stampOf(1, key, "other"))
			check.NoError(t, s.rdb.Do(t.Context(), closesLess(r.Append([]any{"eval", r.Script().Source()}))...).Err())
			s.wantGuards(t, key, map[string]int64{"other": 4})
			check.NoError(t, s.rdb.Del(t.Context(), line).Err())
		}
	})
}
