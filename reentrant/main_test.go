package reentrant_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// Checks that most tests of this package use.
var (
	noError = check.NoError
	wantIs  = check.Is
)

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return check.Must[T](t)
}

func TestMain(m *testing.M) { redistest.Main(m) }

// A world is what one scenario has: a server, keys that no other scenario uses, and an owner.
type world struct {
	rdb    *redis.Client // not the one of the client
	client *redislock.Client
	prefix string
	ctx    context.Context // of the owner
	sent   *tally          // by the client
	events *events         // of the client
}

// worlds gives each run of a test a number: the shared servers keep what it leaves.
var worlds atomic.Int64

func newWorld(t *testing.T, b redistest.Backend) *world {
	t.Helper()
	w := &world{
		rdb: b.Client(t), prefix: fmt.Sprintf("%s#%d:", t.Name(), worlds.Add(1)),
		ctx: reentrant.NewOwner(t.Context()), sent: new(tally), events: new(events),
	}
	rdb := b.Client(t)
	rdb.AddHook(check.Around{Before: w.sent.before})
	w.client = redislock.New(rdb, redislock.WithHooks(w.events.hooks()))
	t.Cleanup(w.client.Close)
	return w
}

// scenario runs fn on every kind of server. All holds of the world's owner are to be released.
func scenario(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		w := newWorld(t, b)
		fn(t, w)
		reentrant.CheckReleased(t, w.ctx)
	})
}

// bubble runs fn in a bubble of testing/synctest, with a server that uses the clock of the bubble.
func bubble(t *testing.T, fn func(t *testing.T, w *world, mini *redistest.Mini)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mini := redistest.PipeMini(t)
		w := newWorld(t, mini)
		fn(t, w, mini)
		reentrant.CheckReleased(t, w.ctx)
	})
}

func (w *world) keys(names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = w.prefix + name
	}
	return keys
}

// obtain holds write keys for an owner.
func (w *world) obtain(t *testing.T, ctx context.Context, ttl time.Duration, opt *redislock.Options, names ...string) *reentrant.Hold { //nolint:revive // t comes first in a test
	t.Helper()
	return must[*reentrant.Hold](t)(reentrant.Obtain(ctx, w.client, w.keys(names...), ttl, opt))
}

// wantHeld checks which of the keys a, b and c there are.
func (w *world) wantHeld(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range []string{"a", "b", "c"} {
		got := must[int64](t)(w.rdb.Exists(context.Background(), w.prefix+name).Result()) == 1
		if want := slices.Contains(names, name); got != want {
			t.Errorf("key %s: got held %v, want %v", name, got, want)
		}
	}
}

// wantSilent checks that fn sends nothing to Redis.
func (w *world) wantSilent(t *testing.T, fn func()) {
	t.Helper()
	before := w.sent.n.Load()
	fn()
	if n := w.sent.n.Load() - before; n != 0 {
		t.Errorf("got %d commands, want none", n)
	}
}

// A tally counts the commands a client sends; a test may have it do something first.
type tally struct {
	n         atomic.Int64
	atCommand atomic.Pointer[func()]
}

func (c *tally) before(redis.Cmder) {
	c.n.Add(1)
	if fn := c.atCommand.Load(); fn != nil {
		(*fn)()
	}
}

// events counts what the hooks of a Client get; a test may have it do something at a refresh or a release.
type events struct {
	obtained, refreshed, lost, released atomic.Int64
	atRefresh, atRelease                atomic.Pointer[func()]
}

func (e *events) hooks() redislock.Hooks {
	count := func(n *atomic.Int64, at *atomic.Pointer[func()]) func(context.Context, redislock.Event) {
		return func(context.Context, redislock.Event) {
			n.Add(1)
			if fn := at.Load(); fn != nil {
				(*fn)()
			}
		}
	}
	var nothing atomic.Pointer[func()]
	return redislock.Hooks{
		Obtained: count(&e.obtained, &nothing), Refreshed: count(&e.refreshed, &e.atRefresh),
		Lost: count(&e.lost, &nothing), Released: count(&e.released, &e.atRelease),
	}
}

// long is a ttl that does not end within a test.
const long = time.Minute

var watched = &redislock.Options{Watchdog: true}
