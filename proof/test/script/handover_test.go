package script_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A legacy is a set of keys a, b and c that somebody releases, those who wait for them, and what becomes of that.
type legacy struct {
	name     string
	waiters  []fakeWaiter // whose keys are named without the prefix
	messages []string
	lines    [3]string // who waits then
	holders  [3]string // who holds the keys then
}

var all = []string{"a", "b", "c"}

// legacies have one waiter for the whole set or several, who are the first in their lines or not.
var legacies = []legacy{
	{
		"one wants the whole set",
		[]fakeWaiter{{id: "first", write: all}, {id: "next", write: all}},
		[]string{"g|first…"},
		[3]string{"next", "next", "next"},
		[3]string{"first", "first", "first"},
	},
	{
		"for a short time",
		[]fakeWaiter{{id: "first", write: all, ttl: shortLease}, {id: "next", write: all}},
		[]string{"g|first…", "h|next|4000"},
		[3]string{"next", "next", "next"},
		[3]string{"first", "first", "first"},
	},
	{
		"in another order",
		[]fakeWaiter{{id: "first", write: []string{"c", "a", "b"}}},
		[]string{"g|first…"},
		[3]string{},
		[3]string{"first", "first", "first"},
	},
	{
		"but another is before it in the last line",
		[]fakeWaiter{{id: "other", write: all[2:]}, {id: "whole", write: all}},
		[]string{"g|other…"},
		[3]string{"whole", "whole", "whole"},
		[3]string{"", "", "other"},
	},
	{
		"but another is before it in the second line",
		[]fakeWaiter{{id: "other", write: all[1:2]}, {id: "whole", write: all}},
		[]string{"g|other…"},
		[3]string{"whole", "whole", "whole"},
		[3]string{"", "other", ""},
	},
	{
		"but its process is gone",
		[]fakeWaiter{{id: "first", write: all, gone: true}, {id: "next", write: all}},
		[]string{"g|next…"},
		[3]string{},
		[3]string{"next", "next", "next"},
	},
	{
		"but it has not asked for long",
		[]fakeWaiter{{id: "first", write: all, dead: true}, {id: "next", write: all}},
		[]string{"g|next…"},
		[3]string{},
		[3]string{"next", "next", "next"},
	},
	{
		"and a number that cannot be given here",
		[]fakeWaiter{{id: "first", write: all, fenced: true}, {id: "next", write: all}},
		[]string{"w|first"},
		[3]string{"first next", "first next", "first next"},
		[3]string{},
	},
	{
		"and one key more",
		[]fakeWaiter{{id: "first", write: []string{"a", "b", "c", "d"}}},
		[]string{"w|first"},
		[3]string{"first", "first", "first"},
		[3]string{},
	},
	{
		"and reads a part",
		[]fakeWaiter{{id: "first", write: all[:2], read: all[2:]}},
		[]string{"g|first…"},
		[3]string{},
		[3]string{"first", "first", "first"},
	},
	{
		"each wants a key",
		[]fakeWaiter{{id: "1", write: all[:1]}, {id: "2", read: all[1:2]}, {id: "3", write: all[2:]}},
		[]string{"g|1…", "g|2…", "g|3…"},
		[3]string{},
		[3]string{"1", "2", "3"},
	},
	{
		"readers go before a writer",
		[]fakeWaiter{
			{id: "r", read: all[:1], ttl: shortLease}, {id: "s", read: all[:1], ttl: shortLease}, {id: "w", write: all[:1]},
		},
		[]string{"g|r…", "g|s…", "h|w|4000"},
		[3]string{"w"},
		[3]string{"r s"},
	},
	{
		"one wants what was just given to another",
		[]fakeWaiter{{id: "1", write: all[:1]}, {id: "2", write: []string{"b", "a"}}},
		[]string{"g|1…"},
		[3]string{"2", "2"},
		[3]string{"1"},
	},
	{
		"a token wants a part once more",
		[]fakeWaiter{{id: "first", write: all[:2]}, {id: "part", write: all[1:2], as: "first"}},
		[]string{"g|first…"},
		[3]string{"", "part"},
		[3]string{"first", "first"},
	},
}

// A set that is released goes to those who are the first in its lines, as far as they want no more than that. Those who
// are not served stay in all their lines, which go on living. This is so whether the set is as it was taken, or not.
func TestSetIsHandedOver(t *testing.T) {
	t.Parallel()
	for _, l := range legacies {
		for name, value := range map[string]string{"as it was taken": "mine", "with other metadata": "mine|other"} {
			t.Run(l.name+"/"+name, func(t *testing.T) {
				withFixture(t, func(t *testing.T, s *fixture) {
					keys := []string{s.key("a"), s.key("b"), s.key("c")}
					for _, key := range keys {
						check.NoError(t, s.rdb.Set(t.Context(), key, value, longLease).Err())
					}
					l.enter(t, s)
					if got := s.release(t, keys, "mine"); got != int64(1) {
						t.Fatalf("got reply %v", got)
					}
					s.wantMessages(t, l.messages...)
					for i, key := range keys {
						s.wantLine(t, key, strings.Fields(l.lines[i])...)
						s.wantHolders(t, key, l.holders[i])
					}
				})
			})
		}
	}
}

// enter puts the waiters into their lines, one after the other.
func (l legacy) enter(t *testing.T, s *fixture) {
	t.Helper()
	for i, f := range l.waiters {
		f.place = int64(i + 1)
		if f.ttl == 0 {
			f.ttl = longLease
		}
		f.write, f.read = slices.Clone(f.write), slices.Clone(f.read)
		for _, names := range [][]string{f.write, f.read} {
			for i, name := range names {
				names[i] = s.key(name)
			}
		}
		s.enters(t, f)
	}
}

// wantHolders checks who holds a key, and that neither the key nor its line stays for ever.
func (s *fixture) wantHolders(t *testing.T, key, want string) {
	t.Helper()
	var values []string
	if s.rdb.Type(t.Context(), key).Val() == "zset" {
		values = s.rdb.ZRange(t.Context(), key, 0, -1).Val()
	} else if value := s.rdb.Get(t.Context(), key).Val(); value != "" {
		values = append(values, value)
	}
	for i, value := range values {
		_, values[i], _ = strings.Cut(value, "|")
	}
	if got := strings.Join(values, " "); got != want {
		t.Errorf("%q is held by %q, want %q", key, got, want)
	}
	for _, k := range []string{key, slot.Beside("line", key)} {
		if ttl := s.rdb.PTTL(t.Context(), k).Val(); ttl == -1 {
			t.Errorf("%q has no TTL", k)
		}
	}
}

// Who releases a set, and is subscribed to the channel of the one who gets it, is told in the reply.
func TestHandOverIsToldInTheReply(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, keys := range [][]string{{s.key("a")}, {s.key("b"), s.key("c")}} {
			for _, key := range keys {
				check.NoError(t, s.rdb.Set(t.Context(), key, "mine", longLease).Err())
			}
			next := fakeWaiter{id: "next" + slot.Beside("x", keys[0])[:5], write: keys, place: 1, ttl: longLease, gone: true}
			s.enters(t, next)
			value := "mine"
			reply, _ := s.ask(t, &proto.Release{Set: lockKeys(keys, nil), Value: &value, Channel: next.channel(s)}).([]any)
			if len(reply) != 2 || !strings.HasPrefix(reply[1].(string), "g|"+next.id+"|") {
				t.Errorf("got reply %v, want that %s has %v", reply, next.id, keys)
			}
			s.wantMessages(t)
		}
	})
}
