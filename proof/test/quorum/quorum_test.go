// Package quorum_test has the tests of locks on a majority of independent servers: what is enough for one, what happens when
// servers refuse, fail, hang or lose what they had, and what all of it costs.
package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	long     = 10 * time.Minute // a ttl that does not end within a test, on a busy machine either
	soon     = time.Minute      // longer than anything takes that has to come
	patience = 10 * time.Second // a node time-out that a server that works keeps to
	short    = 2 * time.Second  // one that a test waits for, and that no server has to keep to
)

// A world is what one scenario has: servers, each with a node, and a Client of all of them. What
// happens at the nodes is noted.
type world struct {
	rdbs   []*redis.Client // not those of the nodes
	nodes  []*redislock.Client
	client *quorum.Client

	servers []*redistest.Server // of a world of real servers
	relays  []*redistest.Relay  // in front of them, if there are any

	mu     sync.Mutex
	counts map[string]int // of events, such as "obtained 2"
}

// impatient has a node find out soon that a server is gone.
func impatient(opt *redis.Options) {
	opt.MaxRetries, opt.DialerRetries, opt.ReadTimeout, opt.DialTimeout = -1, 1, 2*patience, 2*patience
}

// neverGivesUp has a node wait for replies without an end.
func neverGivesUp(opt *redis.Options) { opt.MaxRetries, opt.ReadTimeout = -1, long }

// apart gives a client an address of its own, which leads nowhere: all servers in memory have the same, so
// that a token would be one owner at all of them, and in all tests.
func apart(opt *redis.Options) {
	n := places.Add(1)
	opt.Addr = fmt.Sprintf("127.%d.%d.%d:1", n>>16&255, n>>8&255, n&255)
}

var places atomic.Int64

// newWorld is a world of imitated servers.
func newWorld(t *testing.T, n int) *world {
	t.Helper()
	w := &world{}
	for range n {
		w.add(t, redistest.StartMini(t))
	}
	w.client = w.newClient(t)
	return w
}

// hurry has the Client wait for a node no longer than this. The nodes are warm before: to connect and to load the
// scripts may take longer.
func (w *world) hurry(t *testing.T, timeout time.Duration) {
	t.Helper()
	w.warmUp(t)
	w.client = w.newClient(t, quorum.WithNodeTimeout(timeout))
}

// bubble runs fn in a synctest bubble, with a world of imitated servers that live on its clock: for
// what is about time.
func bubble(t *testing.T, n int, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		for range n {
			w.addApart(t, redistest.PipeMini(t))
		}
		w.client = w.newClient(t)
		fn(t, w)
	})
}

// realWorld is a world of processes.
func realWorld(t *testing.T, n int, opts ...quorum.Option) *world {
	t.Helper()
	w := &world{}
	for range n {
		w.servers = append(w.servers, redistest.Start(t, redistest.Redis))
		w.add(t, w.servers[len(w.servers)-1])
	}
	w.client = w.newClient(t, opts...)
	return w
}

// relayedWorld is a world of imitated servers, each behind a relay.
func relayedWorld(t *testing.T, n int, opts ...quorum.Option) *world {
	t.Helper()
	return relayedBy(t, n, impatient, opts...)
}

// relayedBy is a relayedWorld with nodes whose clients are made so.
func relayedBy(t *testing.T, n int, mod func(*redis.Options), opts ...quorum.Option) *world {
	t.Helper()
	w := &world{}
	for range n {
		server := redistest.StartMini(t)
		relay := redistest.NewRelay(t, server.Addr())
		w.relays = append(w.relays, relay)
		w.rdbs = append(w.rdbs, server.Client(t, impatient))
		w.nodes = append(w.nodes, w.newNode(t, len(w.nodes), relay.Client(t, mod)))
	}
	w.client = w.newClient(t, opts...)
	return w
}

func (w *world) add(t *testing.T, b redistest.Backend) {
	t.Helper()
	w.rdbs = append(w.rdbs, b.Client(t, impatient))
	w.nodes = append(w.nodes, w.newNode(t, len(w.nodes), b.Client(t, impatient)))
}

// addApart adds a server that may be one in memory.
func (w *world) addApart(t *testing.T, b redistest.Backend) {
	t.Helper()
	mods := []func(*redis.Options){impatient}
	if mini, is := b.(*redistest.Mini); is && mini.Addr() == "127.0.0.1:0" {
		mods = append(mods, apart)
	}
	w.rdbs = append(w.rdbs, b.Client(t, mods...))
	w.nodes = append(w.nodes, w.newNode(t, len(w.nodes), b.Client(t, mods...)))
}

func (w *world) newNode(t *testing.T, i int, rdb redis.Scripter, opts ...redislock.ClientOption) *redislock.Client {
	t.Helper()
	note := func(what string) func(context.Context, redislock.Event) {
		return func(context.Context, redislock.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.counts == nil {
				w.counts = make(map[string]int)
			}
			w.counts[fmt.Sprint(what, " ", i)]++
		}
	}
	node := redislock.New(rdb, append(opts, redislock.WithHooks(redislock.Hooks{
		Obtained: note("obtained"), Refused: note("refused"), Refreshed: note("refreshed"), Released: note("released"),
	}))...)
	closeAtEnd(t, node.Close)
	return node
}

// newNodes makes a node more for each server, with these options.
func (w *world) newNodes(t *testing.T, opts ...redislock.ClientOption) []*redislock.Client {
	t.Helper()
	nodes := make([]*redislock.Client, 0, len(w.rdbs))
	for i, rdb := range w.rdbs {
		nodes = append(nodes, w.newNode(t, i, rdb, opts...))
	}
	return nodes
}

func (w *world) newClient(t *testing.T, opts ...quorum.Option) *quorum.Client {
	t.Helper()
	opts = append([]quorum.Option{quorum.WithNodeTimeout(long)}, opts...) // that is no test of how fast the machine is
	client := must[*quorum.Client](t)(quorum.New(w.nodes, opts...))
	closeAtEnd(t, client.Close)
	return client
}

// count returns how often something has happened at a node.
func (w *world) count(what string, i int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[fmt.Sprint(what, " ", i)]
}

// settled waits until all nodes have answered equally often: nobody is late. A node that was behind may have been left out
// of an attempt; then it waits until nobody has answered for a second.
func (w *world) settled(t *testing.T) {
	t.Helper()
	last, since := "", time.Now()
	eventually(t, "all nodes have answered", func() bool {
		var answers []int
		for i := range w.nodes {
			answers = append(answers, w.count("obtained", i)+w.count("refused", i))
		}
		if now := fmt.Sprint(answers); now != last {
			last, since = now, time.Now()
		}
		return slices.Min(answers) == slices.Max(answers) || time.Since(since) > time.Second
	})
}

// block has somebody else hold a key at some nodes.
func (w *world) block(t *testing.T, key string, ttl time.Duration, at ...int) []*redislock.Lock {
	t.Helper()
	locks := make([]*redislock.Lock, 0, len(at))
	for _, i := range at {
		locks = append(locks, must[*redislock.Lock](t)(redislock.New(w.rdbs[i]).
			Obtain(t.Context(), []string{key}, ttl, &redislock.Options{Metadata: "other"})))
	}
	return locks
}

// holders returns at how many of the servers that answer a key is there.
func (w *world) holders(t *testing.T, key string) int {
	t.Helper()
	n := 0
	for _, rdb := range w.rdbs {
		if there, err := rdb.Exists(t.Context(), key).Result(); err == nil {
			n += int(there)
		}
	}
	return n
}

// wantHolders waits until a key is there at so many servers.
func (w *world) wantHolders(t *testing.T, key string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q is held at %d servers", key, n), func() bool { return w.holders(t, key) == n })
}

// wantNodes waits until a lock has so many nodes.
func wantNodes(t *testing.T, lock *quorum.Lock, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d nodes", n), func() bool { return lock.Nodes() == n })
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return check.Must[T](t)
}

var (
	noError = check.NoError
	wantIs  = check.Is
)

// wantOnly checks that the error is the target, and none of the other facts.
func wantOnly(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want one that is %v", err, target)
	}
	for _, other := range []error{
		redislock.ErrNotObtained, redislock.ErrUnknownOutcome, redislock.ErrLockNotHeld, &redislock.InvalidError{Argument: "ttl"},
	} {
		if !errors.Is(target, other) && errors.Is(err, other) {
			t.Fatalf("got error %v, want it not to be %v as well", err, other)
		}
	}
}

// wantAsked waits for a request.
func wantAsked(t *testing.T, asked <-chan struct{}) {
	t.Helper()
	select {
	case <-asked:
	case <-time.After(soon):
		t.Fatal("nothing is asked")
	}
}

// wantLost checks that a context ends because the lock is lost.
func wantLost(t *testing.T, held context.Context) { //nolint:revive // t comes first in a test
	t.Helper()
	select {
	case <-held.Done():
	case <-time.After(soon):
		t.Fatal("the context has not ended")
	}
	if got := context.Cause(held); got != redislock.ErrLockLost { //nolint:errorlint // it is this value
		t.Fatalf("got cause %v, want %v", got, redislock.ErrLockLost)
	}
}

// eventually waits until a state that comes by itself is there.
func eventually(t *testing.T, what string, state func() bool) {
	t.Helper()
	check.Eventually(t, soon, what, state)
}
