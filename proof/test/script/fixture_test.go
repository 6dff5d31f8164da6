// Package script_test has the tests of single scripts: what they do, and what they cost.
package script_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// What scripts reply, and how long a waiter counts as alive that does not ask again.
const (
	inLine     = -2
	overtaken  = -3 // by a later request: nothing was done
	waiterLife = 15 * time.Second
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A fakeWaiter is a waiter that a test puts into the lines itself. It never asks.
type fakeWaiter struct {
	id          string
	as          string   // whose token it has; its own if empty
	write, read []string // the first key of its set is a write key, if it has any
	place       int64    // in its lines
	ttl         time.Duration
	fenced      bool
	gone        bool // nobody has subscribed to its channel
	dead        bool // it has not asked for too long
}

func (f fakeWaiter) channel(s *fixture) string { return "redislock:wake:" + s.prefix + f.id }
func (f fakeWaiter) value() string             { return "token-" + cmp.Or(f.as, f.id) + "|" + f.id }

// entry is what stands in the line of one of its keys: see entry.lua.
func (f fakeWaiter) entry(s *fixture, key string, now time.Time) string {
	all := slices.Concat(f.write, f.read)
	mode, number, first, names := "w", "-", "-", ""
	if slices.Contains(f.read, key) {
		mode = "r"
	}
	if f.fenced {
		number = "f"
	}
	switch {
	case len(all) == 1:
	case key == all[0]:
		first = "h"
		for i, each := range all {
			kind := "w"
			if i >= len(f.write) {
				kind = "r"
			}
			names += fmt.Sprintf("%s%d:%s", kind, len(each), each)
		}
	default:
		names = all[0]
	}
	till := now.Add(time.Hour)
	if f.dead {
		till = now.Add(-time.Minute)
	}
	channel := f.channel(s)
	return fmt.Sprintf("%s|%d|%sp%s%s|%d|%d|%d|%d|%s%s%s", f.id, till.UnixMilli(), mode, number, first,
		f.ttl.Milliseconds(), len(all), len(channel), len(names), channel, names, f.value())
}

// ages makes a waiter one that has entered its lines, or has asked last, so long ago.
func (s *fixture) ages(t *testing.T, keys []string, id string, by time.Duration) {
	t.Helper()
	for _, key := range keys {
		line := slot.Beside("line", key)
		for _, z := range check.Must[[]redis.Z](t)(s.rdb.ZRangeWithScores(t.Context(), line, 0, -1).Result()) {
			parts := strings.SplitN(z.Member.(string), "|", 3)
			if parts[0] != id {
				continue
			}
			till := check.Must[int64](t)(strconv.ParseInt(parts[1], 10, 64)) - by.Milliseconds()
			older := redis.Z{Score: z.Score, Member: fmt.Sprintf("%s|%d|%s", id, till, parts[2])}
			check.NoError(t, s.rdb.ZAdd(t.Context(), line, older).Err())
			check.NoError(t, s.rdb.ZRem(t.Context(), line, z.Member).Err())
		}
	}
}

// A fixture is a server whose lines a test fills.
type fixture struct {
	rdb    *redis.Client
	client *redislock.Client
	prefix string
	ear    *redis.PubSub
}

var fixtures atomic.Int64

func newFixture(t *testing.T, b redistest.Backend) *fixture {
	t.Helper()
	rdb := b.Client(t)
	s := &fixture{rdb: rdb, client: redislock.New(rdb), prefix: fmt.Sprintf("%s#%d:", t.Name(), fixtures.Add(1))}
	t.Cleanup(s.client.Close)
	s.ear = rdb.Subscribe(context.WithoutCancel(t.Context()))
	t.Cleanup(func() { _ = s.ear.Close() })
	s.listen(t, s.prefix+"end")
	return s
}

func (s *fixture) key(name string) string { return s.prefix + name }

func (s *fixture) listen(t *testing.T, channel string) {
	t.Helper()
	check.NoError(t, s.ear.Subscribe(t.Context(), channel))
	for { // what was published before is left out
		got, ok := check.Must[any](t)(s.ear.ReceiveTimeout(t.Context(), time.Minute)).(*redis.Subscription)
		if ok && got.Channel == channel {
			return
		}
	}
}

// enters puts waiters into their lines.
func (s *fixture) enters(t *testing.T, waiters ...fakeWaiter) {
	t.Helper()
	now := check.Must[time.Time](t)(s.rdb.Time(t.Context()).Result())
	pipe := s.rdb.Pipeline()
	for _, f := range waiters {
		if !f.gone {
			s.listen(t, f.channel(s))
		}
		for _, key := range slices.Concat(f.write, f.read) {
			pipe.ZAdd(t.Context(), slot.Beside("line", key), redis.Z{Score: float64(f.place), Member: f.entry(s, key, now)})
			pipe.Expire(t.Context(), slot.Beside("line", key), time.Hour)
		}
	}
	check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
}

// messages returns what was published to the waiters so far. Empty messages are left out: they only ask who has subscribed.
func (s *fixture) messages(t *testing.T) []string {
	t.Helper()
	check.NoError(t, s.rdb.Publish(t.Context(), s.prefix+"end", "").Err())
	var messages []string
	for {
		switch what := check.Must[any](t)(s.ear.ReceiveTimeout(t.Context(), time.Minute)).(type) {
		case *redis.Message:
			if what.Channel == s.prefix+"end" {
				return messages
			}
			if what.Payload != "" {
				messages = append(messages, what.Payload)
			}
		default:
			t.Fatalf("got %v", what)
		}
	}
}

// wantMessages checks that this was published to the waiters, and no more. What stands before a '…' is the
// beginning of the message.
func (s *fixture) wantMessages(t *testing.T, want ...string) {
	t.Helper()
	got := s.messages(t)
	same := func(got, want string) bool {
		beginning, open := strings.CutSuffix(want, "…")
		return got == want || open && strings.HasPrefix(got, beginning)
	}
	if !slices.EqualFunc(got, want, same) {
		t.Fatalf("they got %q, want %q", got, want)
	}
}

// line returns the ids of those who stand in the line of a key.
func (s *fixture) line(t *testing.T, key string) []string {
	t.Helper()
	var ids []string
	for _, entry := range check.Must[[]string](t)(s.rdb.ZRange(t.Context(), slot.Beside("line", key), 0, -1).Result()) {
		id, _, _ := strings.Cut(entry, "|")
		ids = append(ids, id)
	}
	return ids
}

func (s *fixture) wantLine(t *testing.T, key string, want ...string) {
	t.Helper()
	if got := s.line(t, key); !slices.Equal(got, want) {
		t.Fatalf("in line for %q are %q, want %q", key, got, want)
	}
}

// withFixture runs a scenario on every kind of server.
func withFixture(t *testing.T, fn func(t *testing.T, s *fixture)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) { fn(t, newFixture(t, b)) })
}
