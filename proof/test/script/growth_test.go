package script_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A handOver is a way in which a set with waiters is released.
type handOver struct {
	holder, waiter redislock.Mode
	fenced, wants  bool   // the holder is fenced; the waiters want numbers
	publish        bool   // the releasing user may publish
	kind           string // of the waiters
}

const (
	subscribed = "subscribed"    // to what is published on its channel
	silent     = "is gone"       // nobody has subscribed to its channel
	part       = "holds a part"  // of the keys already
	other      = "wants another" // key as well, of which the script knows nothing
)

func handOvers() []handOver {
	var all []handOver
	both := []bool{true, false}
	for _, modes := range [][2]redislock.Mode{
		{redislock.ModeWrite, redislock.ModeWrite}, {redislock.ModeWrite, redislock.ModeRead}, {redislock.ModeRead, redislock.ModeWrite},
	} {
		for _, kind := range []string{subscribed, silent, part, other} {
			for _, publish := range both {
				for _, fenced := range both {
					for _, wants := range both {
						all = append(all, handOver{modes[0], modes[1], fenced, wants, publish, kind})
					}
				}
			}
		}
	}
	return all
}

func (h handOver) String() string {
	return fmt.Sprintf("%s by %s,fenced=%v,wants=%v,publish=%v,%s", h.holder, h.waiter, h.fenced, h.wants, h.publish, h.kind)
}

// waiters are those who stand in line for the keys: two, who want all of them.
func (h handOver) waiters(s *fixture, keys []string) []fakeWaiter {
	if h.kind == other {
		keys = append(slices.Clone(keys), s.key("other"))
	}
	var all []fakeWaiter
	for i := range 2 {
		f := fakeWaiter{id: fmt.Sprint("w", i), place: int64(i + 1), ttl: longLease, fenced: h.wants, gone: h.kind == silent}
		if h.waiter == redislock.ModeWrite {
			f.write = keys
		} else {
			f.read = keys
		}
		all = append(all, f)
	}
	return all
}

// become says what is published to the waiters and who then stands in line for the first key.
func (h handOver) become() (messages, line []string) {
	first, all := []string{"w0"}, []string{"w0", "w1"}
	if h.waiter == redislock.ModeRead {
		first = all
	}
	for _, id := range first {
		messages = append(messages, "w|"+id)
	}
	switch {
	case !h.publish:
		return nil, all
	case h.kind == silent:
		return nil, nil
	case h.kind == subscribed && (h.fenced || !h.wants):
		for i := range messages {
			messages[i] = "g" + messages[i][1:] + "|…"
		}
		return messages, all[len(first):]
	case h.kind == part:
		return messages[:1], all // the second does not hold it
	}
	return messages, all
}

// run releases n keys and returns how many commands the script has run.
func (h handOver) run(t *testing.T, b redistest.Backend, user *redislock.Client, n int) int {
	t.Helper()
	s := newFixture(t, b)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = s.key(strconv.Itoa(i))
	}
	opt := &redislock.Options{Fenced: h.fenced}
	obtain := user.Obtain
	if h.holder == redislock.ModeRead {
		obtain = user.ObtainRead
	}
	lock := check.Must[*redislock.Lock](t)(obtain(t.Context(), keys, longLease, opt))
	waiters := h.waiters(s, keys)
	want := error(nil)
	if h.kind == part {
		want = redislock.ErrLockNotHeld // the last key is the first waiter's
		check.NoError(t, s.rdb.Set(t.Context(), keys[n-1], waiters[0].value(), longLease).Err())
	}
	s.enters(t, waiters...)
	var err error
	commands := world.Counted(t, s.rdb, func() { err = lock.Release(t.Context()) }).InScripts().Total()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
	messages, line := h.become()
	s.wantMessages(t, messages...)
	s.wantLine(t, keys[0], line...)
	check.NoError(t, s.rdb.FlushAll(t.Context()).Err())
	return commands
}

// wantLinear checks that what is done for 100, 200 and 400 keys grows with them.
func wantLinear(t *testing.T, run func(n int) int) {
	t.Helper()
	few, more, many := run(100), run(200), run(400)
	t.Logf("%d, %d and %d commands for 100, 200 and 400 keys", few, more, many)
	const aside = 20 // what is done once, or once for so many keys
	if many-more > 2*(more-few)+aside || many > 60*400 {
		t.Errorf("%d, %d and %d commands for 100, 200 and 400 keys", few, more, many)
	}
}

// A script holds the server up for everybody, so what a release does for the waiters of a set grows with its keys and not
// with their square, whoever waits and whatever the user may do.
func TestHandOverGrowsWithTheKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	admin := server.Client(t)
	mute := func(rules ...any) *redislock.Client {
		check.NoError(t, admin.Do(t.Context(), append([]any{"acl", "setuser"}, rules...)...).Err())
		client := redislock.New(server.Client(t, func(opt *redis.Options) { opt.Username, opt.Password = rules[0].(string), "secret" }))
		t.Cleanup(client.Close)
		return client
	}
	users := map[bool]*redislock.Client{
		true:  mute("may", "on", ">secret", "~*", "&*", "+@all"),
		false: mute("mute", "on", ">secret", "~*", "&*", "+@all", "-publish", "-spublish"),
	}
	for _, h := range handOvers() {
		t.Run(h.String(), func(t *testing.T) {
			wantLinear(t, func(n int) int { return h.run(t, server, users[h.publish], n) })
		})
	}
}

// entersAsLast has somebody ask for the keys, of which one is held, and stand in line for them.
func (s *fixture) entersAsLast(t *testing.T, keys []string, place proto.Place) func() {
	t.Helper()
	check.NoError(t, s.rdb.Set(t.Context(), keys[0], "somebody", longLease).Err())
	return func() {
		reply := s.ask(t, fakeWaiter{id: "last", write: keys, ttl: longLease}.waiterOf(s, place))
		if reply, ok := reply.([]any); !ok || reply[0] != int64(inLine) {
			t.Fatalf("got reply %v", reply)
		}
	}
}

// The same for what other scripts do for waiters.
func TestLineGrowsWithTheKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	for name, act := range map[string]func(t *testing.T, s *fixture, keys []string) func(){
		"downgrade": func(t *testing.T, s *fixture, keys []string) func() {
			t.Helper()
			lock := check.Must[*redislock.Lock](t)(s.client.Obtain(t.Context(), keys, longLease, nil))
			return func() { check.NoError(t, lock.Downgrade(t.Context())) }
		},
		"is refused": func(t *testing.T, s *fixture, keys []string) func() {
			t.Helper()
			return func() {
				_, err := s.client.Obtain(t.Context(), keys, longLease, nil)
				refusedInLine(t, err)
			}
		},
		"enters the line": func(t *testing.T, s *fixture, keys []string) func() {
			t.Helper()
			return s.entersAsLast(t, keys, proto.Place{})
		},
		"asks in line again": func(t *testing.T, s *fixture, keys []string) func() {
			t.Helper()
			s.entersAsLast(t, keys, proto.Place{})()
			s.ages(t, keys, "last", time.Second) // so it is renewed, which after half a second it is anyway
			return s.entersAsLast(t, keys, unknown)
		},
		"gives up, in front of the others": func(t *testing.T, s *fixture, keys []string) func() {
			t.Helper()
			s.enters(t, fakeWaiter{id: "front", write: keys, place: 0, ttl: longLease})
			return func() { s.givesUp(t, keys, "token-front", "front", unknown) }
		},
	} {
		for _, kind := range []string{subscribed, silent, part, other} {
			for _, mode := range []redislock.Mode{redislock.ModeRead, redislock.ModeWrite} {
				if name == "is refused" && kind != subscribed {
					continue // one that is gone refuses nobody
				}
				t.Run(fmt.Sprintf("%s: %s who %s", name, mode, kind), func(t *testing.T) {
					wantLinear(t, func(n int) int {
						s := newFixture(t, server)
						keys := make([]string, n)
						for i := range keys {
							keys[i] = s.key(strconv.Itoa(i))
						}
						do := act(t, s, keys)
						h := handOver{waiter: mode, kind: kind}
						waiters := h.waiters(s, keys)
						if kind == part {
							check.NoError(t, s.rdb.Set(t.Context(), s.key("other"), waiters[0].value(), longLease).Err())
						}
						s.enters(t, waiters...)
						commands := world.Counted(t, s.rdb, do).InScripts().Total()
						check.NoError(t, s.rdb.FlushAll(t.Context()).Err())
						return commands
					})
				})
			}
		}
	}
}
