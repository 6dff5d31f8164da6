// Package world has what the tests in several folders share: a server with keys for one scenario, time that passes at
// once, servers that fail, waiters that stand in line, and checks of what they find.
package world

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A World is what one scenario has: a server, and keys that no other scenario uses.
type World struct {
	RDB    *redis.Client
	Client *redislock.Client
	Prefix string // of every key
}

// worlds counts the calls of NewName.
var worlds atomic.Int64

// NewName returns a prefix for keys that nothing else in this process uses. Each run of a test gets another one, because
// the shared servers keep what a run leaves.
func NewName(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%s#%d:", t.Name(), worlds.Add(1))
}

// New makes a world on a server. It ends with the test.
func New(t *testing.T, b redistest.Backend, opts ...redislock.ClientOption) *World {
	t.Helper()
	rdb := b.Client(t)
	w := &World{RDB: rdb, Client: redislock.New(rdb, opts...), Prefix: NewName(t)}
	t.Cleanup(w.Client.Close)
	return w
}

// Prefixed returns a world on the same server with a Client that puts the prefix of this world in front of every key.
// So the key "a" there is Key("a") here.
func (w *World) Prefixed(t *testing.T, opts ...redislock.ClientOption) *World {
	t.Helper()
	return &World{RDB: w.RDB, Client: NewClient(t, w.RDB, append(opts, redislock.WithKeyPrefix(w.Prefix))...)}
}

// Key names a key of the scenario.
func (w *World) Key(name string) string { return w.Prefix + name }

// Keys names several keys of the scenario.
func (w *World) Keys(names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = w.Key(name)
	}
	return keys
}

// Scenario runs fn on every kind of server.
func Scenario(t *testing.T, fn func(t *testing.T, w *World)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) { fn(t, New(t, b)) })
}

// Long is a ttl that does not end within a test, and Slack is how much of it may have passed when the test looks.
const (
	Long  = 10 * time.Minute
	Slack = time.Minute
)

// WantFree checks that none of the keys exists, as their names are in Redis.
func (w *World) WantFree(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if !strings.Contains(key, w.Prefix) {
			t.Fatalf("%q is no key of this world, whose keys begin with %q", key, w.Prefix)
		}
		if n := check.Must[int64](t)(w.RDB.Exists(t.Context(), key).Result()); n != 0 {
			t.Fatalf("key %q is there, want it free", key)
		}
	}
}

// WantTTL checks that a key has a TTL, of more than least and at most most.
func (w *World) WantTTL(t *testing.T, key string, least, most time.Duration) {
	t.Helper()
	ttl := check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), key).Result())
	if ttl <= least || ttl > most {
		t.Fatalf("got ttl of %q %v, want more than %v and at most %v", key, ttl, least, most)
	}
}

// Soon is long enough for a turn that comes with a message, and too short for one that comes when a waiter asks again by
// itself.
const Soon = 4 * time.Second

// Polled is long enough for a waiter that has missed a message to have asked again.
const Polled = 8 * time.Second

// WantNoTrace checks that nothing is left of a lock, or of its waiters.
func (w *World) WantNoTrace(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		w.WantFree(t, key, "redislock:line:{"+key+"}", "redislock:fence:{"+key+"}")
	}
}

// OnlyGuardsSoon waits until only guards are left of waiters, and of locks with an unanswered request.
func (w *World) OnlyGuardsSoon(t *testing.T, keys ...string) {
	t.Helper()
	var traces []string
	for _, key := range keys {
		traces = append(traces, key, "redislock:line:{"+key+"}")
	}
	check.Eventually(t, Soon, "nothing but guards is left", func() bool {
		return len(check.WithoutGuards(t.Context(), w.RDB, traces...)) == 0
	})
}

// Fenced returns the options of a caller that wants a fencing number.
func Fenced() *redislock.Options { return &redislock.Options{Fenced: true} }

// Queue returns the options of a caller that stands in line.
func Queue() *redislock.Options { return &redislock.Options{Queue: true} }

// Watched are the options of a lock that a watchdog renews.
var Watched = &redislock.Options{Watchdog: true}

// A Refusal is an error that a server might give.
type Refusal string

// Error returns what the server says.
func (r Refusal) Error() string { return string(r) }

// RedisError marks the error as one of a server.
func (r Refusal) RedisError() {}

// WantSays checks the next line that a process prints.
func WantSays(t *testing.T, p *redistest.Process, want string) {
	t.Helper()
	if got := check.Must[string](t)(p.ReadLine(time.Minute)); got != want {
		t.Fatalf("the process says %q, want %q", got, want)
	}
}
