package wrapped_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A prefixer puts a prefix before each key, and counts what it is asked to send.
type prefixer struct {
	to     redis.Scripter
	prefix string
	calls  *atomic.Int64
}

func (p prefixer) keys(keys []string) []string {
	p.calls.Add(1)
	prefixed := make([]string, len(keys))
	for i, key := range keys {
		prefixed[i] = p.prefix + key
	}
	return prefixed
}

func (p prefixer) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.to.Eval(ctx, script, p.keys(keys), args...)
}

func (p prefixer) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return p.to.EvalSha(ctx, sha, p.keys(keys), args...)
}

// Clients that embed one of go-redis and have an Eval and an EvalSha of their own.
type (
	prefixedClient struct {
		*redis.Client
		prefixer
		_ []string // such a value cannot be compared
	}
	prefixedCluster struct {
		*redis.ClusterClient
		prefixer
	}
	prefixedRing struct {
		*redis.Ring
		prefixer
	}
)

// A wrapping is a client that others have wrapped, so that its keys have a prefix.
type wrapping struct {
	inner interface {
		redis.UniversalClient
		AddHook(hook redis.Hook)
	}
	rdb    redis.Scripter // what wraps it
	prefix string
	calls  *atomic.Int64 // of the wrapper
	runs   atomic.Int64  // scripts that were sent
	bare   atomic.Int64  // of them, those with a key without the prefix
	nodes  []*redis.Client
}

// shops counts wrappings: each has a prefix of its own.
var shops atomic.Int64

func newWrapping(t *testing.T, inner redis.UniversalClient, nodes ...*redis.Client) *wrapping {
	t.Helper()
	w := &wrapping{inner: inner, prefix: fmt.Sprintf("shop%d:", shops.Add(1)), calls: new(atomic.Int64), nodes: nodes}
	p := prefixer{inner, w.prefix, w.calls}
	switch inner := inner.(type) {
	case *redis.Client:
		w.rdb = prefixedClient{Client: inner, prefixer: p}
	case *redis.ClusterClient:
		w.rdb = prefixedCluster{inner, p}
	case *redis.Ring:
		w.rdb = prefixedRing{inner, p}
	}
	inner.AddHook(check.Around{After: func(cmd redis.Cmder) {
		args := cmd.Args()
		if !strings.HasPrefix(cmd.Name(), "eval") {
			return
		}
		w.runs.Add(1)
		for i := range args[2].(int) {
			key := fmt.Sprint(args[3+i])
			if text, ok := args[3+i].(*string); ok {
				key = *text
			}
			if !strings.HasPrefix(key, w.prefix) {
				w.bare.Add(1)
			}
		}
	}})
	return w
}

// wantWrapped checks that all went through the wrapper: what it has not seen nobody has sent.
func (w *wrapping) wantWrapped(t *testing.T) {
	t.Helper()
	if calls, runs, bare := w.calls.Load(), w.runs.Load(), w.bare.Load(); calls == 0 || runs > calls || bare > 0 {
		t.Errorf("of %d scripts that were sent the wrapper has seen %d, and %d keys have no prefix", runs, calls, bare)
	}
	for _, node := range w.nodes {
		for _, key := range check.Must[[]string](t)(node.Keys(t.Context(), "*"+t.Name()+"*").Result()) {
			if !strings.HasPrefix(key, "shop") { // of another run of the test perhaps
				t.Errorf("key %q has no prefix", key)
			}
		}
	}
}

// wrappings runs fn on each kind of client that can be wrapped.
func wrappings(t *testing.T, fn func(t *testing.T, w *wrapping)) {
	t.Helper()
	t.Parallel()
	t.Run("client", func(t *testing.T) {
		redistest.Each(t, func(t *testing.T, b redistest.Backend) { fn(t, newWrapping(t, b.Client(t), b.Client(t))) })
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
		var nodes []*redis.Client
		for _, node := range cluster.Nodes() {
			nodes = append(nodes, node.Client(t))
		}
		fn(t, newWrapping(t, cluster.Client(t), nodes...))
	})
	t.Run("ring", func(t *testing.T) {
		t.Parallel()
		ring, nodes := world.NewRing(t)
		fn(t, newWrapping(t, ring, nodes...))
	})
}

// What a wrapper does to keys is done to those of locks, whatever is done with these: also if the
// client says what it wraps.
func TestWrappedKeysAreThoseOfTheWrapper(t *testing.T) {
	wrappings(t, func(t *testing.T, w *wrapping) {
		for name, opts := range map[string][]redislock.ClientOption{
			"by itself": nil, "said": {redislock.WithWrapped(w.inner)},
		} {
			client := redislock.New(w.rdb, opts...)
			t.Cleanup(client.Close)
			tag := fmt.Sprintf("{%s:%s}", t.Name(), name)
			w.everything(t, client, tag)
			if opts != nil {
				w.inLine(t, client, tag)
			}
			world.Cycles(t, client, 5, func(g, i int) string {
				return fmt.Sprintf("{%s%d}%d", t.Name(), g, i)
			})
			w.wantWrapped(t)
		}
	})
}

// everything does with keys of a tag what can be done without a line.
func (w *wrapping) everything(t *testing.T, client *redislock.Client, tag string) {
	t.Helper()
	ctx, a, b := t.Context(), tag+"a", tag+"b"
	lock := check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{a, b}, world.Long, nil))
	for _, key := range []string{a, b} {
		if got := w.inner.Get(ctx, w.prefix+key).Val(); got != lock.Token() {
			t.Errorf("got value %q behind the prefix, want the token", got)
		}
	}
	// As bsm/redislock does it, whose Client has the same wrapper.
	if ok := check.Must[bool](t)(w.inner.SetNX(ctx, w.prefix+a, "bsm", world.Long).Result()); ok {
		t.Error("another fleet has the lock as well")
	}
	_ = check.Must[time.Duration](t)(lock.TTL(ctx))
	check.NoError(t, lock.Refresh(ctx, world.Long))
	check.NoError(t, lock.Downgrade(ctx))
	check.NoError(t, lock.Upgrade(ctx))
	check.NoError(t, lock.ReleaseKeys(ctx, []string{b}))
	check.NoError(t, client.Attach([]string{a}, lock.Token()).Release(ctx))

	check.NoError(t, w.inner.Set(ctx, w.prefix+a, "bsm", world.Long).Err())
	_, err := client.Obtain(ctx, []string{a}, world.Long, nil)
	world.WantConflict(t, err, a, redislock.ModeWrite)
	check.NoError(t, w.inner.Del(ctx, w.prefix+a).Err())

	fence := check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{a}, world.Long, world.Fenced()))
	check.NoError(t, fence.RaiseFence(ctx, fence.Fence()+5))
	state := check.Must[[]redislock.KeyState](t)(client.Inspect(ctx, []string{a, b}))
	if state[0].Fence != fence.Fence() || state[0].Mode != redislock.ModeWrite || state[1].Mode != redislock.ModeFree {
		t.Errorf("got states %+v", state)
	}
	check.NoError(t, fence.Release(ctx))
	reader := check.Must[*redislock.Lock](t)(client.ObtainRead(ctx, []string{a}, world.Long, nil))
	_, err = client.Obtain(ctx, []string{a}, world.Long, &redislock.Options{
		Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1),
	})
	world.WantConflict(t, err, a, redislock.ModeRead)
	check.NoError(t, reader.Release(ctx))

	const ttl = 6 * time.Second
	err = client.With(ctx, []string{b}, ttl, nil, func(held context.Context) error {
		before := check.Must[time.Duration](t)(w.inner.PTTL(ctx, w.prefix+b).Result())
		check.Eventually(t, 5*ttl, "it is renewed", func() bool {
			left := check.Must[time.Duration](t)(w.inner.PTTL(ctx, w.prefix+b).Result())
			renewed := left > before
			before = left
			return renewed || held.Err() != nil
		})
		return context.Cause(held)
	})
	check.NoError(t, err)
}

// inLine has waiters of the client take turns.
func (w *wrapping) inLine(t *testing.T, client *redislock.Client, tag string) {
	t.Helper()
	set := []string{tag + "a", tag + "b"}
	holder := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), set, world.Long, world.Queue()))
	waiters := world.NewWaiters(t)
	names := waiters.Line(t, 4, set, client)
	watch := check.StartWatch(t)
	check.NoError(t, holder.Release(t.Context()))
	world.WantOrder(t, waiters.Served(t), names)
	world.WantNotified(t, watch)
}

// A Client without WithWrapped does not stand in line, nor ask the server itself.
func TestWrappedRefusals(t *testing.T) {
	wrappings(t, func(t *testing.T, w *wrapping) {
		replicas, uptime, wraps := redislock.WithReplicas(1), redislock.WithMinUptime(world.Long), redislock.WithWrapped(w.inner)
		for name, clients := range map[string][]*redislock.Client{
			"Options.Queue": {redislock.New(w.rdb)},
			"WithReplicas":  {redislock.New(w.rdb, replicas), redislock.New(w.rdb, replicas, wraps)},
			"WithMinUptime": {redislock.New(w.rdb, uptime), redislock.New(w.rdb, uptime, wraps)},
		} {
			opt := &redislock.Options{Queue: name == "Options.Queue"}
			for _, client := range clients {
				t.Cleanup(client.Close)
				var err error
				world.WantUnsent(t, w.inner, errors.ErrUnsupported, func() error {
					_, err = client.Obtain(t.Context(), []string{t.Name()}, world.Long, opt)
					return err
				})
				for _, word := range []string{name, fmt.Sprintf("%T", w.rdb)} {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("got error %v, want one that names %s", err, word)
					}
				}
			}
		}
	})
}

// Calls that take and release write locks travel together if it is known what is wrapped, through the
// wrapper all the same.
func TestWrappedTogether(t *testing.T) {
	wrappings(t, func(t *testing.T, w *wrapping) {
		const workers, rounds = 64, 10
		var sent []int64
		for _, opts := range [][]redislock.ClientOption{nil, {redislock.WithWrapped(w.inner)}} {
			client := redislock.New(w.rdb, opts...)
			t.Cleanup(client.Close)
			before := w.calls.Load()
			var wg sync.WaitGroup
			for worker := range workers {
				wg.Go(func() {
					for range rounds {
						key := fmt.Sprintf("{%s:%d}%d", t.Name(), worker%4, worker)
						lock, err := client.Obtain(t.Context(), []string{key}, world.Long, nil)
						if err == nil {
							if n := w.inner.Exists(t.Context(), w.prefix+key).Val(); n != 1 {
								t.Errorf("key %q is locked, and not where it belongs", key)
							}
							err = lock.Release(t.Context())
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			sent = append(sent, w.calls.Load()-before)
		}
		if calls := int64(2 * workers * rounds); sent[0] < calls || sent[1] > calls*3/4 {
			t.Errorf("got %d commands for %d calls, each by itself; and %d if they may travel together", sent[0], calls, sent[1])
		}
		w.wantWrapped(t)
	})
}

// A prefix of the Client stands behind that of what wraps its Redis client, and callers see neither.
func TestWrappedBehindAPrefix(t *testing.T) {
	wrappings(t, func(t *testing.T, w *wrapping) {
		client := world.NewClient(t, w.rdb, redislock.WithWrapped(w.inner), redislock.WithKeyPrefix("lock/"))
		key := "{" + world.NewName(t) + "}"
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key + "a", key + "b"}, world.Long, world.Queue()))
		for _, name := range []string{"a", "b"} {
			if n := check.Must[int64](t)(w.inner.Exists(t.Context(), w.prefix+"lock/"+key+name).Result()); n != 1 {
				t.Errorf("%q is not there", w.prefix+"lock/"+key+name)
			}
		}
		_, err := client.Obtain(t.Context(), []string{key + "b"}, world.Long, nil)
		world.WantConflict(t, err, key+"b", redislock.ModeWrite)
		turns := make(chan world.Turn, 1)
		waits := &world.World{Client: client, Prefix: key}
		waits.Wait(t.Context(), turns, "waiter", waits.Keys("a", "b"), nil)
		waits.InLine(t, key+"a", 1)
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, world.WantTurn(t, turns, "waiter")[0].Release(t.Context()))
		w.wantWrapped(t)
	})
}
