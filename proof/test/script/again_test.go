package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// confirms has lua/again.lua look after waiters. It returns when those are to ask who have to, in ms, by id.
func (s *fixture) confirms(t *testing.T, waiters ...fakeWaiter) map[string]int64 {
	t.Helper()
	var q proto.Round
	for _, f := range waiters {
		set := lockKeys(f.write, f.read)
		q.Add(f.id, proto.PlaceOf(f.place), set.Keys, set.Lines)
	}
	now := check.Must[time.Time](t)(s.rdb.Time(t.Context()).Result())
	r := runOf(&q, owners.Stamp{})
	micros, all, err := r.Asks(check.Must[any](t)(s.send(t, r)), len(waiters))
	check.NoError(t, err)
	if late := time.UnixMicro(micros).Sub(now); late < 0 || late > time.Minute {
		t.Fatalf("got a clock of the server that is %v late", late)
	}
	asks := make(map[string]int64)
	for i, in := range all {
		asks[waiters[i].id] = in.Milliseconds()
	}
	return asks
}

// wantAsks checks that these waiters have to ask at once, and no others.
func (s *fixture) wantAsks(t *testing.T, got map[string]int64, want ...string) {
	t.Helper()
	for id, ms := range got {
		if !slices.Contains(want, id) {
			t.Errorf("%s is to ask in %d ms, want it to wait", id, ms)
		}
	}
	for _, id := range want {
		if ms, ok := got[id]; !ok || ms != 0 {
			t.Errorf("%s is to ask: %t, in %d ms, want at once", id, ok, ms)
		}
	}
}

// aliveFor returns how long the entries in a line count as alive, by id.
func (s *fixture) aliveFor(t *testing.T, key string) map[string]time.Duration {
	t.Helper()
	now := check.Must[time.Time](t)(s.rdb.Time(t.Context()).Result())
	alive := make(map[string]time.Duration)
	for _, entry := range check.Must[[]string](t)(s.rdb.ZRange(t.Context(), slot.Beside("line", key), 0, -1).Result()) {
		var till int64
		id, rest, _ := strings.Cut(entry, "|")
		check.Must[int](t)(fmt.Sscanf(rest, "%d", &till))
		alive[id] = time.UnixMilli(till).Sub(now)
	}
	return alive
}

// A waiter asks by itself if asking may change something for it, and only then.
func TestAgainFindsWhoHasToAsk(t *testing.T) {
	t.Parallel()
	type line struct {
		t       *testing.T
		s       *fixture
		a, b, c string
	}
	write := func(id string, place int64, keys ...string) fakeWaiter {
		return fakeWaiter{id: id, place: place, ttl: longLease, write: keys}
	}
	read := func(id string, place int64, keys ...string) fakeWaiter {
		return fakeWaiter{id: id, place: place, ttl: longLease, read: keys}
	}
	held := func(l line, keys ...string) {
		l.t.Helper()
		for _, key := range keys {
			check.NoError(l.t, l.s.rdb.Set(l.t.Context(), key, "other|m", longLease).Err())
		}
	}
	isRead := func(l line, key string, tokens ...string) {
		l.t.Helper()
		ends := time.Now().Add(longLease)
		for _, token := range tokens {
			check.NoError(l.t, l.s.rdb.ZAdd(l.t.Context(), key, redis.Z{Score: float64(ends.UnixMilli()), Member: token}).Err())
		}
		check.NoError(l.t, l.s.rdb.PExpireAt(l.t.Context(), key, ends).Err())
	}
	dead := func(f fakeWaiter) fakeWaiter { f.dead = true; return f }
	gone := func(f fakeWaiter) fakeWaiter { f.gone = true; return f }
	for name, test := range map[string]func(l line) (waiters []fakeWaiter, want []string){
		"behind a writer who has the key": func(l line) ([]fakeWaiter, []string) {
			held(l, l.a)
			all := []fakeWaiter{write("x", 1, l.a), read("y", 2, l.a), write("z", 3, l.a)}
			l.s.enters(l.t, all...)
			return all, nil
		},
		"behind readers who have the key": func(l line) ([]fakeWaiter, []string) {
			isRead(l, l.a, "other", "third")
			all := []fakeWaiter{write("x", 1, l.a), read("y", 2, l.a), read("z", 3, l.a)}
			l.s.enters(l.t, all...)
			return all, nil
		},
		"the key is free": func(l line) ([]fakeWaiter, []string) {
			all := []fakeWaiter{write("x", 1, l.a), read("y", 2, l.a), write("z", 3, l.a)}
			l.s.enters(l.t, all...)
			return all, []string{"x"}
		},
		"readers read it, and are first": func(l line) ([]fakeWaiter, []string) {
			isRead(l, l.a, "other")
			all := []fakeWaiter{read("x", 1, l.a), read("y", 2, l.a), write("z", 3, l.a), read("late", 4, l.a)}
			l.s.enters(l.t, all...)
			return all, []string{"x", "y"}
		},
		"readers behind one who waits for another key": func(l line) ([]fakeWaiter, []string) {
			held(l, l.b)
			all := []fakeWaiter{read("x", 1, l.a, l.b), read("y", 2, l.a)}
			l.s.enters(l.t, all...)
			return all, []string{"y"}
		},
		"a writer behind one who waits for another key": func(l line) ([]fakeWaiter, []string) {
			held(l, l.b)
			all := []fakeWaiter{write("x", 1, l.a, l.b), write("y", 2, l.a), write("z", 3, l.a)}
			l.s.enters(l.t, all...)
			return all, nil
		},
		"one key of the set is held": func(l line) ([]fakeWaiter, []string) {
			held(l, l.c)
			all := []fakeWaiter{write("x", 1, l.a, l.b, l.c)}
			l.s.enters(l.t, all...)
			return all, nil
		},
		"somebody dead is before it": func(l line) ([]fakeWaiter, []string) {
			l.s.enters(l.t, dead(write("d", 1, l.a)), write("x", 2, l.a), write("y", 3, l.a))
			return []fakeWaiter{write("x", 2, l.a), write("y", 3, l.a)}, []string{"x"}
		},
		"somebody dead is before readers": func(l line) ([]fakeWaiter, []string) {
			l.s.enters(l.t, dead(write("d", 1, l.a)), read("x", 2, l.a), read("y", 3, l.a))
			return []fakeWaiter{read("x", 2, l.a), read("y", 3, l.a)}, []string{"x", "y"}
		},
		"somebody whom nobody hears is before it": func(l line) ([]fakeWaiter, []string) {
			l.s.enters(l.t, gone(write("d", 1, l.a)), write("x", 2, l.a))
			return []fakeWaiter{write("x", 2, l.a)}, []string{"x"}
		},
		"something else is in the line": func(l line) ([]fakeWaiter, []string) {
			l.s.enters(l.t, write("x", 2, l.a))
			check.NoError(l.t, l.s.rdb.ZAdd(l.t.Context(), slot.Beside("line", l.a), redis.Z{Score: 1, Member: "strange"}).Err())
			return []fakeWaiter{write("x", 2, l.a)}, []string{"x"}
		},
		"its token has the key": func(l line) ([]fakeWaiter, []string) {
			l.s.enters(l.t, write("x", 1, l.a))
			check.NoError(l.t, l.s.rdb.Set(l.t.Context(), l.a, write("x", 1).value(), longLease).Err())
			return []fakeWaiter{write("x", 1, l.a)}, []string{"x"}
		},
		"it reads what it wants to write": func(l line) ([]fakeWaiter, []string) {
			isRead(l, l.a, write("x", 1).value())
			isRead(l, l.b, write("x", 1).value(), "other")
			all := []fakeWaiter{write("x", 1, l.a), {id: "x2", place: 1, ttl: longLease, write: []string{l.b}}}
			l.s.enters(l.t, all...)
			return all, []string{"x"}
		},
		"nobody hears its channel": func(l line) ([]fakeWaiter, []string) {
			held(l, l.a)
			l.s.enters(l.t, write("x", 1, l.a), gone(write("y", 2, l.a)))
			return []fakeWaiter{write("x", 1, l.a), write("y", 2, l.a)}, []string{"y"}
		},
		"its entry is missing": func(l line) ([]fakeWaiter, []string) {
			held(l, l.a, l.b, l.c)
			all := []fakeWaiter{write("x", 1, l.a, l.b, l.c), write("y", 2, l.a), write("z", 3, l.c)}
			l.s.enters(l.t, write("x", 1, l.a, l.b), write("z", 3, l.c))
			return all, []string{"x", "y"}
		},
		"it stands at another place": func(l line) ([]fakeWaiter, []string) {
			held(l, l.a)
			l.s.enters(l.t, write("x", 1, l.a), write("y", 7, l.a))
			return []fakeWaiter{write("x", 2, l.a), write("y", 6, l.a)}, []string{"x", "y"}
		},
		"it stands there more than once": func(l line) ([]fakeWaiter, []string) {
			held(l, l.a)
			l.s.enters(l.t, write("x", 1, l.a), dead(write("x", 1, l.a)))
			return []fakeWaiter{write("x", 1, l.a)}, []string{"x"}
		},
		"its line is something else": func(l line) ([]fakeWaiter, []string) {
			held(l, l.a, l.b)
			l.s.enters(l.t, write("x", 1, l.a, l.b), write("y", 2, l.a))
			check.NoError(l.t, l.s.rdb.Set(l.t.Context(), slot.Beside("line", l.b), "strange", longLease).Err())
			return []fakeWaiter{write("x", 1, l.a, l.b), write("y", 2, l.a)}, []string{"x"}
		},
		"its key is something else": func(l line) ([]fakeWaiter, []string) {
			check.NoError(l.t, l.s.rdb.HSet(l.t.Context(), l.a, "f", "v").Err())
			all := []fakeWaiter{write("x", 1, l.a), read("y", 2, l.a)}
			l.s.enters(l.t, all...)
			return all, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withFixture(t, func(t *testing.T, s *fixture) {
				l := line{t, s, s.key("a"), s.key("b"), s.key("c")}
				waiters, want := test(l)
				s.wantAsks(t, s.confirms(t, waiters...), want...)
			})
		})
	}
}

// Whoever is the first for a key is told when the lease before it is over, if that is soon.
func TestAgainTellsTheFirst(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		all := []fakeWaiter{
			{id: "first", place: 1, ttl: longLease, write: []string{s.key("a")}},
			{id: "second", place: 2, ttl: longLease, write: []string{s.key("a")}},
			{id: "long", place: 3, ttl: longLease, write: []string{s.key("b")}},
		}
		s.enters(t, all...)
		check.NoError(t, s.rdb.Set(t.Context(), s.key("a"), "other", shortLease).Err())
		check.NoError(t, s.rdb.Set(t.Context(), s.key("b"), "other", longLease).Err())
		got := s.confirms(t, all...)
		if ms := got["first"]; len(got) != 1 || ms <= 0 || ms > shortLease.Milliseconds() {
			t.Errorf("got %v, want the first alone, in %v", got, shortLease)
		}
	})
}

// A waiter that stands in line lives on, in its place, and its line with it.
func TestAgainKeepsAlive(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		a, b := s.key("a"), s.key("b")
		dies := fakeWaiter{id: "dies", place: 1, ttl: longLease, write: []string{a}, dead: true}
		lives := fakeWaiter{id: "lives", place: 2, ttl: longLease, write: []string{a}, read: []string{b}, dead: true}
		alone := fakeWaiter{id: "alone", place: 3, ttl: longLease, fenced: true, write: []string{b}, dead: true}
		s.enters(t, dies, lives, alone)
		before := check.Must[[]string](t)(s.rdb.ZRange(t.Context(), slot.Beside("line", b), 0, -1).Result())
		check.NoError(t, s.rdb.PExpire(t.Context(), slot.Beside("line", b), waiterLife-time.Second).Err())
		for _, key := range []string{a, b} {
			check.NoError(t, s.rdb.Set(t.Context(), key, "other", longLease).Err())
		}
		for range 3 { // in the same millisecond, perhaps
			s.wantAsks(t, s.confirms(t, lives, alone))
		}
		s.wantLine(t, a, "dies", "lives")
		s.wantLine(t, b, "lives", "alone")
		for id, alive := range s.aliveFor(t, a) {
			if isAlive := alive > waiterLife/2 && alive <= waiterLife; isAlive != (id == "lives") {
				t.Errorf("%s is alive for %v", id, alive)
			}
		}
		after := check.Must[[]string](t)(s.rdb.ZRange(t.Context(), slot.Beside("line", b), 0, -1).Result())
		for i := range before {
			if rest := func(entry string) string { return strings.SplitN(entry, "|", 3)[2] }; rest(after[i]) != rest(before[i]) {
				t.Errorf("got the entry %q, want it as it was: %q", after[i], before[i])
			}
		}
		for key, least := range map[string]time.Duration{a: 59 * time.Minute, b: waiterLife} { // guards may need the longer one
			if ttl := check.Must[time.Duration](t)(s.rdb.PTTL(t.Context(), slot.Beside("line", key)).Result()); ttl < least {
				t.Errorf("got a line that lasts for %v, want %v", ttl, least)
			}
		}
	})
}

// One that is executed late makes nothing: neither an entry of a waiter that has left, nor a line.
func TestAgainLate(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		a, b := s.key("a"), s.key("b")
		left := fakeWaiter{id: "left", place: 1, ttl: longLease, write: []string{a, b}}
		stays := fakeWaiter{id: "stays", place: 2, ttl: longLease, write: []string{a}}
		s.enters(t, stays)
		s.listen(t, left.channel(s))
		s.confirms(t, left)
		s.wantLine(t, a, "stays")
		for _, key := range []string{a, b, slot.Beside("line", b)} {
			if n := check.Must[int64](t)(s.rdb.Exists(t.Context(), key).Result()); n != 0 {
				t.Errorf("there is %q", key)
			}
		}
		if alive := s.aliveFor(t, a)["stays"]; alive < waiterLife {
			t.Errorf("it is alive for %v, want it as it was", alive)
		}
	})
}

// Waiters live on where memory is short; and they ask by themselves where the user may not look for them.
func TestAgainShort(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := newFixture(t, redistest.Start(t, kind))
		waiter := fakeWaiter{id: "x", place: 1, ttl: longLease, write: []string{s.key("a")}}
		s.enters(t, waiter)
		check.NoError(t, s.rdb.Set(t.Context(), s.key("a"), "other", longLease).Err())
		check.NoError(t, s.rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
		s.wantAsks(t, s.confirms(t, waiter))
		if alive := s.aliveFor(t, s.key("a"))["x"]; alive > waiterLife {
			t.Errorf("it is alive for %v, want another time", alive)
		}
		check.NoError(t, s.rdb.ConfigSet(t.Context(), "maxmemory", "0").Err())
		check.NoError(t, s.rdb.Do(t.Context(), "acl", "setuser", "default", "-zrevrangebyscore").Err())
		s.wantAsks(t, s.confirms(t, waiter), "x")
	})
}
