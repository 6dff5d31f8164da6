package script_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// guardScore is the score of a guard that ends so many seconds from now.
func (s *fixture) guardScore(t *testing.T, seconds, number int64) float64 {
	t.Helper()
	now := check.Must[time.Time](t)(s.rdb.Time(t.Context()).Result())
	return float64(int64(1)<<52 + (now.Unix()+seconds)<<20 + number)
}

// setGuard puts a guard into the line of a key.
func (s *fixture) setGuard(t *testing.T, key, id string, seconds, number int64) {
	t.Helper()
	line := slot.Beside("line", key)
	check.NoError(t, s.rdb.ZAdd(t.Context(), line, redis.Z{Score: s.guardScore(t, seconds, number), Member: id}).Err())
	if s.rdb.PTTL(t.Context(), line).Val() < time.Hour {
		check.NoError(t, s.rdb.Expire(t.Context(), line, time.Hour).Err())
	}
}

// guards returns the numbers of the guards in the line of a key, by id.
func (s *fixture) guards(t *testing.T, key string) map[string]int64 {
	t.Helper()
	found := make(map[string]int64)
	for _, z := range check.Must[[]redis.Z](t)(s.rdb.ZRangeWithScores(t.Context(), slot.Beside("line", key), 0, -1).Result()) {
		if z.Score >= 1<<52 {
			found[z.Member.(string)] = (int64(z.Score) - 1<<52) & (1<<20 - 1)
		}
	}
	return found
}

func (s *fixture) wantGuards(t *testing.T, key string, want map[string]int64) {
	t.Helper()
	if got := s.guards(t, key); !maps.Equal(got, want) {
		t.Fatalf("got guards %v in the line of %q, want %v", got, key, want)
	}
}

// A writer asks for something that changes what a token holds of one key.
type writer func(key string, value *string) proto.Request

// writers are of all scripts that do.
func (s *fixture) writers() map[string]writer {
	one := func(key string) proto.Set { return lockKeys([]string{key}, nil) }
	return map[string]writer{
		"obtain": func(key string, value *string) proto.Request {
			return &proto.Obtain{Set: one(key), Value: value, TTL: time.Minute}
		},
		"intent": func(key string, value *string) proto.Request {
			intents := []string{slot.Beside("intent", key)}
			return &proto.Obtain{Set: one(key), Value: value, TTL: time.Minute, Declares: true, Intent: time.Second, Intents: intents}
		},
		"fenced": func(key string, value *string) proto.Request {
			return &proto.Obtain{Set: fencedKeys(key), Value: value, TTL: time.Minute}
		},
		"queue": func(key string, value *string) proto.Request {
			q := fakeWaiter{id: "waiter", write: []string{key}, ttl: time.Minute}.waiterOf(s, proto.Place{})
			q.Value = value
			return q
		},
		"read": func(key string, value *string) proto.Request {
			intents := []string{slot.Beside("intent", key)}
			return &proto.Obtain{Set: lockKeys(nil, []string{key}), Value: value, TTL: time.Minute, Intents: intents}
		},
		"refresh": func(key string, value *string) proto.Request {
			return proto.Refresh{Set: one(key), Value: value, TTL: time.Minute}
		},
		"upgrade": func(key string, value *string) proto.Request {
			return proto.Convert{Set: one(key), Value: value, TTL: time.Minute}
		},
		"release": func(key string, value *string) proto.Request {
			return &proto.Release{Set: one(key), Value: value}
		},
		"raise": func(key string, value *string) proto.Request {
			return proto.Raise{Set: fencedKeys(key), Value: value, TTL: time.Minute, Number: 7}
		},
	}
}

// write runs a script of the table.
func (s *fixture) write(t *testing.T, w writer, key, value string, stamp owners.Stamp) (any, error) {
	t.Helper()
	return s.send(t, runOf(w(key, &value), stamp))
}

// stampOf says that a request is this one of the owner with the id `id`. It closes what these owners have sent before,
// in the line of a key.
func stampOf(number int64, key string, closes ...string) owners.Stamp {
	stamp := owners.Stamp{Numbered: true, Name: owners.Name{ID: "id", Number: number}}
	for _, id := range closes {
		stamp.Closes = append(stamp.Closes, &owners.Sent{Name: owners.Name{ID: id}, Home: slot.Beside("line", key)})
	}
	return stamp
}

// dump is all that is in Redis for a key and beside it.
func (s *fixture) dump(t *testing.T, key string) string {
	t.Helper()
	ctx, text := t.Context(), ""
	for _, k := range []string{key, slot.Beside("line", key), slot.Beside("fence", key), slot.Beside("intent", key)} {
		switch s.rdb.Type(ctx, k).Val() {
		case "string":
			text += fmt.Sprintln(k, s.rdb.Get(ctx, k).Val(), s.rdb.PTTL(ctx, k).Val() > 2*time.Minute)
		case "zset":
			text += fmt.Sprintln(k, s.rdb.ZRangeWithScores(ctx, k, 0, -1).Val())
		case "hash":
			text += fmt.Sprintln(k, s.rdb.HGetAll(ctx, k).Val())
		}
	}
	return text
}

// Whatever a script would do, short cuts included: behind a guard with a greater number it does nothing.
// With the same number, or behind a guard that has ended, it does it.
func TestGuardOvertakes(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for name, w := range s.writers() {
			for _, held := range []string{"free", "mine", "mine, somebody waits", "another's", "another's, somebody waits"} {
				key, ctx := s.key(name+held), t.Context()
				prepare := func(t *testing.T, seconds, number int64) {
					t.Helper()
					s.rdb.Del(ctx, key, slot.Beside("line", key))
					switch {
					case strings.HasPrefix(held, "mine"):
						s.rdb.Set(ctx, key, "mine|of before", 10*time.Minute)
					case strings.HasPrefix(held, "another's"):
						s.rdb.Set(ctx, key, "other", 10*time.Minute)
					}
					if strings.HasSuffix(held, "somebody waits") {
						s.enters(t, fakeWaiter{id: "somebody", write: []string{key}, place: 7, ttl: time.Minute})
					}
					s.setGuard(t, key, "id", seconds, number)
				}
				prepare(t, 100, 3)
				before := s.dump(t, key)
				reply, err := s.write(t, w, key, "mine|new", stampOf(2, key))
				check.NoError(t, err)
				if after := s.dump(t, key); reply != int64(overtaken) || after != before {
					t.Errorf("%s of a key that is %s: got reply %v, and\n%s, want overtaken, and\n%s", name, held, reply, after, before)
				}
				for _, guard := range [][2]int64{{100, 2}, {-1, 3}} {
					prepare(t, guard[0], guard[1])
					reply, err := s.write(t, w, key, "mine|new", stampOf(2, key))
					check.NoError(t, err)
					if reply == int64(overtaken) {
						t.Errorf("%s of a key that is %s: overtaken by %v", name, held, guard)
					}
				}
			}
		}
	})
}

// Each script sets the guards of its stamp: in a new line, with a TTL that lasts as long, and in one where
// somebody waits; none is made lower, and those that have ended go.
func TestGuardIsSet(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for name, w := range s.writers() {
			key := s.key(name)
			send := func(number int64) {
				t.Helper()
				value := "mine"
				r := runOf(w(key, &value), stampOf(number, key, "id", "other"))
				_, err := s.rdb.Do(t.Context(), closesLess(r.Append([]any{"eval", r.Script().Source()}))...).Result()
				check.NoError(t, err)
			}
			send(2)
			s.wantGuards(t, key, map[string]int64{"id": 2, "other": 4})
			if ttl := s.rdb.PTTL(t.Context(), slot.Beside("line", key)).Val(); ttl < 300*time.Second {
				t.Errorf("%s: a line lives %v, its guards 300s", name, ttl)
			}
			s.setGuard(t, key, "ended", -1, 9)
			s.setGuard(t, key, "other", 100, 6)
			s.enters(t, fakeWaiter{id: "somebody", write: []string{key}, place: 7, ttl: time.Minute})
			send(3)
			s.wantGuards(t, key, map[string]int64{"id": 3, "other": 6})
		}
	})
}

// closesLess has a command close only what another owner has sent up to its number 4. A Client closes all that it has sent, so
// that no guard could be made lower.
func closesLess(command []any) []any {
	for i, arg := range command {
		if text, is := arg.(*string); is {
			command[i] = strings.ReplaceAll(*text, fmt.Sprintf("other|%d|", owners.LastNumber), "other|4|")
		}
	}
	return command
}

// A line of guards keeps nobody out, a waiter that comes after them has a place before them, and the TTL of the line is
// never lowered. Inspect shows no guard.
func TestGuardsAreNoWaiters(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		ctx, key := t.Context(), s.key("a")
		s.setGuard(t, key, "token-of-others", 100, 1)
		s.setGuard(t, key, "ended", -1, 1)
		for _, opt := range []*redislock.Options{nil, {Fenced: true}, {Queue: true}} {
			lock, err := s.client.Obtain(ctx, []string{key}, time.Minute, opt)
			check.NoError(t, err)
			check.NoError(t, lock.Release(ctx))
		}
		read, err := s.client.ObtainRead(ctx, []string{key}, time.Minute, nil)
		check.NoError(t, err)
		check.NoError(t, read.Downgrade(ctx))
		check.NoError(t, read.Release(ctx))
		s.wantGuards(t, key, map[string]int64{"token-of-others": 1})

		holder, err := s.client.Obtain(ctx, []string{key}, time.Minute, nil)
		check.NoError(t, err)
		s.enters(t, fakeWaiter{id: "first", write: []string{key}, place: 7, ttl: time.Minute})
		s.rdb.Expire(ctx, slot.Beside("line", key), time.Hour)
		_, err = s.write(t, s.writers()["queue"], key, "later", owners.Stamp{})
		check.NoError(t, err)
		s.wantLine(t, key, "first", "waiter", "token-of-others")
		if ttl := s.rdb.PTTL(ctx, slot.Beside("line", key)).Val(); ttl < time.Minute {
			t.Errorf("the line lives %v, and had an hour", ttl)
		}
		states, err := s.client.Inspect(ctx, []string{key})
		check.NoError(t, err)
		if n := len(states[0].Line); n != 2 {
			t.Errorf("got %d waiters, want 2", n)
		}
		check.NoError(t, holder.Release(ctx))
	})
}

// A full server refuses an Obtain that has guards to set before it writes anything, and lets a release set
// them.
func TestGuardOutOfMemory(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := newFixture(t, redistest.Start(t, kind))
		ctx, key := t.Context(), s.key("a")
		check.NoError(t, s.rdb.Set(ctx, key, "mine", time.Minute).Err())
		check.NoError(t, s.rdb.ConfigSet(ctx, "maxmemory", "1").Err())
		for _, name := range []string{"obtain", "read", "queue"} {
			other := s.key(name)
			_, err := s.write(t, s.writers()[name], other, "mine", stampOf(1, other, "id"))
			if err == nil || !strings.Contains(err.Error(), "OOM") || s.dump(t, other) != "" {
				t.Errorf("%s: got error %v, and %q", name, err, s.dump(t, other))
			}
		}
		for _, name := range []string{"refresh", "release"} {
			reply, err := s.write(t, s.writers()[name], key, "mine", stampOf(1, key, "id"))
			if err != nil || reply != int64(1) {
				t.Errorf("%s: got %v, %v", name, reply, err)
			}
			s.wantGuards(t, key, map[string]int64{"id": 1})
			s.rdb.Del(ctx, slot.Beside("line", key))
		}
	})
}

// On a full server, too, a release gives its keys to the next owner: sets, fenced ones, and while somebody stands in line.
func TestGiveOutOfMemory(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := newFixture(t, redistest.Start(t, kind))
		value, next := "mine", "theirs|host"
		for name, keys := range map[string][]string{"a key": {s.key("a")}, "a set": numbered(s.key("b"), 3), "in line": {s.key("c")}} {
			for _, key := range keys {
				check.NoError(t, s.rdb.Set(t.Context(), key, value, time.Minute).Err())
			}
			if name == "in line" {
				place := time.Now().Add(-time.Minute).UnixMicro()
				waiter := fakeWaiter{id: "0123456789012345678901", write: keys, place: place, ttl: time.Minute}
				entry := redis.Z{Score: float64(place), Member: waiter.entry(s, keys[0], time.Now())}
				check.NoError(t, s.rdb.ZAdd(t.Context(), linesOf(keys)[0], entry).Err())
			}
			check.NoError(t, s.rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
			r := runOf(&proto.Release{Set: lockKeys(keys, nil), Value: &value}, owners.Stamp{})
			r.Give(&proto.Next{Value: &next, TTL: time.Hour, Age: time.Hour})
			reply, err := s.send(t, r)
			if _, given := r.IsGiven(reply); err != nil || !given {
				t.Errorf("%s: got %v, %v", name, reply, err)
			}
			for _, key := range keys {
				if got, ttl := s.rdb.Get(t.Context(), key).Val(), s.rdb.PTTL(t.Context(), key).Val(); got != next || ttl <= time.Minute {
					t.Errorf("%s: %s holds %q for %v", name, key, got, ttl)
				}
			}
			check.NoError(t, s.rdb.ConfigSet(t.Context(), "maxmemory", "0").Err())
		}
	})
}

// A release does not free what it is to spare.
func TestGuardSpares(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys := []string{s.key("a"), s.key("b"), s.key("c")}
		for _, spared := range [][]int{nil, {1}, {0, 2}, {0, 1, 2}} {
			for _, key := range keys {
				check.NoError(t, s.rdb.Set(t.Context(), key, "mine", time.Minute).Err())
			}
			value := "mine"
			q := &proto.Release{Set: lockKeys(keys, nil), Value: &value}
			check.Must[any](t)(s.send(t, runOf(q, owners.Stamp{Spared: spared})))
			for i, key := range keys {
				left := s.rdb.Exists(t.Context(), key).Val() == 1
				if want := slices.Contains(spared, i); left != want {
					t.Errorf("spared %v: key %d is left: %t, want %t", spared, i, left, want)
				}
			}
		}
	})
}
