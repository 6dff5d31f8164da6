package line_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// askedFor is how long it takes at most until a waiter is asked for that has heard nothing, and what is wrong is mended.
const askedFor = 5200 * time.Millisecond

// A crowd is many waiters of one Client that stand in line while nothing moves. So few of them ask by themselves that what is
// found soon was found by asking for all of them.
type crowd struct {
	*world.World
	admin redis.UniversalClient // without the hooks of the Client's
	turns chan world.Turn
	keys  []string // that somebody holds
	leave context.CancelFunc

	waiters int
	entries int // of all of them
}

// newCrowd has so many wait for each of some keys.
func newCrowd(t *testing.T, w *world.World, admin redis.UniversalClient, keys, each int) *crowd {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &crowd{World: w, admin: admin, turns: make(chan world.Turn, 3000), leave: cancel}
	for i := range keys {
		c.hold(t, fmt.Sprintf("crowd%d", i))
	}
	for i := range each * keys {
		w.Wait(ctx, c.turns, fmt.Sprint(i), []string{c.keys[i%keys]}, nil)
		c.waiters, c.entries = c.waiters+1, c.entries+1
	}
	check.Eventually(t, time.Minute, "all stand in line", func() bool { return len(c.aliveFor(t)) == c.entries })
	return c
}

// hold has somebody else hold a key.
func (c *crowd) hold(t *testing.T, name string) string {
	t.Helper()
	key := c.Key(name)
	check.NoError(t, c.admin.Set(t.Context(), key, "holder|somebody", world.Long*100).Err())
	c.keys = append(c.keys, key)
	return key
}

// wait has one more waiter stand in line for held keys.
func (c *crowd) wait(ctx context.Context, t *testing.T, who string, keys ...string) {
	t.Helper()
	c.Wait(ctx, c.turns, who, keys, nil)
	c.waiters, c.entries = c.waiters+1, c.entries+len(keys)
	check.Eventually(t, world.Soon, who+" stands in line", func() bool {
		return slices.ContainsFunc(c.line(t, keys[len(keys)-1]), func(entry string) bool { return strings.HasSuffix(entry, "|"+who) })
	})
}

// line returns the entries in the line of a key, without guards.
func (c *crowd) line(t *testing.T, key string) []string {
	t.Helper()
	all := check.Must[[]string](t)(c.admin.ZRange(t.Context(), "redislock:line:{"+key+"}", 0, -1).Result())
	return slices.DeleteFunc(all, func(entry string) bool { return !strings.Contains(entry, "|") })
}

// who returns who stands in the line of a key.
func (c *crowd) who(t *testing.T, key string) (names []string) {
	t.Helper()
	for _, entry := range c.line(t, key) {
		names = append(names, entry[strings.LastIndex(entry, "|")+1:])
	}
	return names
}

// aliveFor returns for how long each waiter counts as alive, in any line.
func (c *crowd) aliveFor(t *testing.T) map[string]time.Duration {
	t.Helper()
	alive, at := make(map[string]time.Duration), time.Now()
	for _, key := range c.keys {
		for _, entry := range c.line(t, key) {
			var till int64
			id, rest, _ := strings.Cut(entry, "|")
			check.Must[int](t)(fmt.Sscanf(rest, "%d", &till))
			alive[id+key] = time.UnixMilli(till).Sub(at)
		}
	}
	return alive
}

// live lets time pass, in which all have to stay alive.
func (c *crowd) live(t *testing.T, during time.Duration) {
	t.Helper()
	for ; during > 0; during -= time.Second {
		time.Sleep(time.Second)
		alive := c.aliveFor(t)
		if len(alive) != c.entries {
			t.Fatalf("%d entries stand in line, want %d", len(alive), c.entries)
		}
		for who, left := range alive {
			if left < 4*time.Second {
				t.Fatalf("%s counts as alive for %v only", who, left)
			}
		}
	}
}

// goHome has all give up.
func (c *crowd) goHome(t *testing.T) {
	t.Helper()
	c.leave()
	for range c.waiters {
		if got := <-c.turns; got.Err == nil {
			check.NoError(t, got.Lock.Release(context.WithoutCancel(t.Context())))
		}
	}
}

// inCrowd runs fn with a crowd of so many in a bubble, beside which others have waited for some time.
func inCrowd(t *testing.T, n int, fn func(t *testing.T, c *crowd), waiters ...func(ctx context.Context, t *testing.T, c *crowd)) {
	t.Helper()
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		c := newCrowd(t, w, mini.Client(t), 1, n)
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); c.goHome(t) }()
		for _, wait := range waiters {
			wait(ctx, t, c)
		}
		c.live(t, 6*time.Second)
		fn(t, c)
	})
}

// one has x, y and z wait for k, and three for several keys, of which some wait for others.
func one(ctx context.Context, t *testing.T, c *crowd) {
	t.Helper()
	k := c.hold(t, "k")
	for _, who := range []string{"x", "y", "z"} {
		c.wait(ctx, t, who, k)
	}
}

func three(ctx context.Context, t *testing.T, c *crowd) {
	t.Helper()
	a, b, d := c.hold(t, "a"), c.hold(t, "b"), c.hold(t, "d")
	c.wait(ctx, t, "x", a)
	c.wait(ctx, t, "xyz", a, b, d)
	c.wait(ctx, t, "z", d)
	c.wait(ctx, t, "yz", b, d)
}
