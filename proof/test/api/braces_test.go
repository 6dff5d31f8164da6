package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// braced are keys with a '}' and no hash tag.
var braced = []string{"a}b", "}", "{}x}", "a}{b"}

// A site is where keys are locked: a kind of server, as two clients see it.
type site struct {
	clients [2]redis.UniversalClient
	nodes   []*redis.Client
}

// client returns a Client of one of the clients.
func (s *site) client(t *testing.T, i int) *redislock.Client {
	t.Helper()
	return world.NewClient(t, s.clients[i])
}

// wantNothing checks that no key is left but those of fencing numbers.
func (s *site) wantNothing(t *testing.T) {
	t.Helper()
	for _, node := range s.nodes {
		for _, key := range check.Must[[]string](t)(node.Keys(t.Context(), "*").Result()) {
			if !strings.HasPrefix(key, "redislock:fence") {
				t.Errorf("%q is left", key)
			}
		}
	}
}

// sites runs fn on a server of each kind that has no other user, and on a Cluster and a Ring.
func sites(t *testing.T, fn func(t *testing.T, s *site)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []redistest.Kind{redistest.Miniredis, redistest.Redis, redistest.Valkey} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			var server redistest.Backend
			if kind == redistest.Miniredis {
				server = redistest.StartMini(t)
			} else {
				server = redistest.Start(t, kind)
			}
			s := &site{nodes: []*redis.Client{server.Client(t)}}
			for i := range s.clients {
				s.clients[i] = server.Client(t)
			}
			fn(t, s)
		})
	}
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster, s := redistest.StartCluster(t, redistest.Redis, 3, 0), &site{}
		for i := range s.clients {
			s.clients[i] = cluster.Client(t)
		}
		for _, node := range cluster.Nodes() {
			s.nodes = append(s.nodes, node.Client(t))
		}
		fn(t, s)
	})
	t.Run("ring", func(t *testing.T) {
		t.Parallel()
		ring, nodes := world.NewRing(t)
		other := redis.NewRing(ring.Options())
		t.Cleanup(func() { _ = other.Close() })
		fn(t, &site{clients: [2]redis.UniversalClient{ring, other}, nodes: nodes})
	})
}

// Every key is locked in every way, also one with a '}' and no hash tag.
func TestBracedKeys(t *testing.T) {
	sites(t, func(t *testing.T, s *site) {
		for _, key := range braced {
			for name, way := range map[string]func(t *testing.T, s *site, key string){
				"write": writeOne, "read": readOne, "convert": convertOne, "intent": intendOne,
				"queue": lineOne, "fence": fenceOne,
			} {
				t.Run(name+" "+key, func(t *testing.T) {
					way(t, s, key)
					s.wantNothing(t)
				})
			}
		}
	})
}

// Those of one server, or of one slot, are locked together.
func TestBracedSets(t *testing.T) {
	sites(t, func(t *testing.T, s *site) {
		one, other := s.client(t, 0), s.client(t, 1)
		neighbour := "{" + slot.Short(slot.Of("a}b")) + "}x"
		switch s.clients[0].(type) {
		case *redis.Client:
			setOf(t, s, braced[:2], braced[2:])
			setOf(t, s, []string{braced[1], "a", "{a}"}, []string{braced[0], neighbour})
		case *redis.ClusterClient:
			setOf(t, s, []string{"a}b"}, []string{neighbour})
			setOf(t, s, []string{neighbour}, []string{"a}b"})
			world.WantUnsent(t, s.clients[0].(*redis.ClusterClient), redislock.ErrCrossSlot, func() error {
				_, err := one.Obtain(t.Context(), braced, world.Long, nil)
				return err
			})
		case *redis.Ring:
			world.WantUnsent(t, s.clients[1].(*redis.Ring), redislock.ErrCrossSlot, func() error {
				_, err := other.Obtain(t.Context(), []string{"a}b", neighbour}, world.Long, nil)
				return err
			})
		}
		s.wantNothing(t)
	})
}

// refusedBy checks that a key can be neither written nor read, or if it is read, not written.
func refusedBy(t *testing.T, client *redislock.Client, key string, mode redislock.Mode) {
	t.Helper()
	_, err := client.Obtain(t.Context(), []string{key}, world.Long, nil)
	world.WantConflict(t, err, key, mode)
	if mode == redislock.ModeWrite {
		_, err = client.ObtainRead(t.Context(), []string{key}, world.Long, nil)
		world.WantConflict(t, err, key, mode)
	}
}

// inspected checks who holds a key, and returns its state.
func inspected(t *testing.T, client *redislock.Client, key string, mode redislock.Mode, holders int) redislock.KeyState {
	t.Helper()
	state := check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), []string{key}))[0]
	if state.Key != key || state.Mode != mode || len(state.Holders) != holders {
		t.Errorf("got state %v, want that %q has mode %q and %d holders", state, key, mode, holders)
	}
	return state
}

func writeOne(t *testing.T, s *site, key string) {
	t.Helper()
	ctx, one, other := t.Context(), s.client(t, 0), s.client(t, 1)
	lock := check.Must[*redislock.Lock](t)(one.Obtain(ctx, []string{key}, world.Long, nil))
	refusedBy(t, other, key, redislock.ModeWrite)
	inspected(t, other, key, redislock.ModeWrite, 1)
	check.NoError(t, lock.Refresh(ctx, 2*world.Long))
	if left := check.Must[time.Duration](t)(lock.TTL(ctx)); left <= world.Long {
		t.Errorf("%v are left, want more than %v", left, world.Long)
	}
	check.NoError(t, other.Attach([]string{key}, lock.Token()).Release(ctx))
	check.Is(t, lock.Release(ctx), redislock.ErrLockNotHeld)
	inspected(t, other, key, redislock.ModeFree, 0)
}

func readOne(t *testing.T, s *site, key string) {
	t.Helper()
	ctx, one, other := t.Context(), s.client(t, 0), s.client(t, 1)
	lock := check.Must[*redislock.Lock](t)(one.ObtainRead(ctx, []string{key}, world.Long, nil))
	second := check.Must[*redislock.Lock](t)(other.ObtainRead(ctx, []string{key}, world.Long, nil))
	refusedBy(t, other, key, redislock.ModeRead)
	inspected(t, one, key, redislock.ModeRead, 2)
	check.NoError(t, lock.Refresh(ctx, world.Long))
	check.NoError(t, lock.Release(ctx))
	refusedBy(t, one, key, redislock.ModeRead)
	check.NoError(t, second.Release(ctx))
	inspected(t, one, key, redislock.ModeFree, 0)
}

func convertOne(t *testing.T, s *site, key string) {
	t.Helper()
	ctx, one, other := t.Context(), s.client(t, 0), s.client(t, 1)
	lock := check.Must[*redislock.Lock](t)(one.Obtain(ctx, []string{key}, world.Long, nil))
	check.NoError(t, lock.Downgrade(ctx))
	reader := check.Must[*redislock.Lock](t)(other.ObtainRead(ctx, []string{key}, world.Long, nil))
	world.WantConflict(t, lock.Upgrade(ctx), key, redislock.ModeRead)
	check.NoError(t, reader.Release(ctx))
	check.NoError(t, lock.Upgrade(ctx))
	refusedBy(t, other, key, redislock.ModeWrite)
	check.NoError(t, lock.Release(ctx))
}

func intendOne(t *testing.T, s *site, key string) {
	t.Helper()
	ctx, one, other := t.Context(), s.client(t, 0), s.client(t, 1)
	reader := check.Must[*redislock.Lock](t)(one.ObtainRead(ctx, []string{key}, world.Long, nil))
	turns := make(chan world.Turn, 1)
	go func() {
		lock, err := other.Obtain(ctx, []string{key}, world.Long, &redislock.Options{
			Intent: true, Metadata: "writer", RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond),
		})
		turns <- world.Turn{Who: "writer", Lock: lock, Err: err}
	}()
	check.Eventually(t, world.Soon, "the writer is seen to wait", func() bool {
		state := inspected(t, one, key, redislock.ModeRead, 1)
		return state.Intent != nil && state.Intent.Metadata == "writer"
	})
	_, err := one.ObtainRead(ctx, []string{key}, world.Long, nil)
	world.WantConflict(t, err, key, redislock.ModeIntent)
	check.NoError(t, reader.Release(ctx))
	check.NoError(t, world.WantTurn(t, turns, "writer")[0].Release(ctx))
}

// lineOne has writers and readers of two Clients stand in line, who get messages when it is their turn.
func lineOne(t *testing.T, s *site, key string) {
	t.Helper()
	ctx, one, other := t.Context(), s.client(t, 0), s.client(t, 1)
	holder := check.Must[*redislock.Lock](t)(one.Obtain(ctx, []string{key}, world.Long, world.Queue()))
	waiters := world.NewWaiters(t)
	names := waiters.Line(t, 6, []string{key}, one, other)
	waiters.WG.Go(func() { waiters.Turn(other, "reader", nil, []string{key}) })
	line := (&world.World{Client: one}).InLine(t, key, len(names)+1)
	for i, waiter := range line {
		if want := append(names, "reader")[i]; waiter.Metadata != want {
			t.Errorf("got %v in place %d of the line, want %q", waiter, i, want)
		}
	}
	_, err := one.ObtainRead(ctx, []string{key}, world.Long, nil)
	world.WantConflict(t, err, key, redislock.ModeWrite)
	watch := check.StartWatch(t)
	check.NoError(t, holder.Release(ctx))
	world.WantOrder(t, waiters.Served(t), append(names, "reader"))
	world.WantNotified(t, watch)
	inspected(t, one, key, redislock.ModeFree, 0)
}

// fenceOne has numbers grow, also where a lock is handed over.
func fenceOne(t *testing.T, s *site, key string) {
	t.Helper()
	ctx, one, other := t.Context(), s.client(t, 0), s.client(t, 1)
	first := check.Must[*redislock.Lock](t)(one.Obtain(ctx, []string{key}, world.Long, world.Fenced()))
	check.NoError(t, first.RaiseFence(ctx, first.Fence()+int64(time.Hour/time.Microsecond)))
	if state := inspected(t, other, key, redislock.ModeWrite, 1); state.Fence != first.Fence() {
		t.Errorf("got number %d of the key, want %d", state.Fence, first.Fence())
	}
	turns := make(chan world.Turn, 1)
	go func() {
		opt := world.Fenced()
		opt.Queue = true
		lock, err := other.Obtain(ctx, []string{key}, world.Long, opt)
		turns <- world.Turn{Who: "next", Lock: lock, Err: err}
	}()
	(&world.World{Client: one}).InLine(t, key, 1)
	check.NoError(t, first.Release(ctx))
	next := world.WantTurn(t, turns, "next")[0]
	if next.Fence() <= first.Fence() {
		t.Errorf("got number %d after %d", next.Fence(), first.Fence())
	}
	check.NoError(t, next.Release(ctx))
	reader := check.Must[*redislock.Lock](t)(one.ObtainRead(ctx, []string{key}, world.Long, world.Fenced()))
	if reader.Fence() <= next.Fence() {
		t.Errorf("got number %d after %d", reader.Fence(), next.Fence())
	}
	check.NoError(t, reader.Release(ctx))
}

// setOf does all of it with a set of several keys.
func setOf(t *testing.T, s *site, write, read []string) {
	t.Helper()
	ctx, one, other := t.Context(), s.client(t, 0), s.client(t, 1)
	lock := check.Must[*redislock.Lock](t)(one.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, world.Long, world.Fenced()))
	for _, key := range write {
		refusedBy(t, other, key, redislock.ModeWrite)
	}
	for _, key := range read {
		refusedBy(t, other, key, redislock.ModeRead)
	}
	_, err := other.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, world.Long, &redislock.Options{
		Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2),
	})
	if !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("got error %v, want a conflict", err)
	}
	check.NoError(t, lock.Downgrade(ctx))
	check.NoError(t, lock.Upgrade(ctx))
	check.NoError(t, lock.Refresh(ctx, world.Long))

	waiters := world.NewWaiters(t).Apart()
	var names []string
	for i, client := range []*redislock.Client{one, other, one} {
		names = append(names, fmt.Sprint(i))
		waiters.WG.Go(func() { waiters.Turn(client, fmt.Sprint(i), write, read) })
		(&world.World{Client: one}).InLine(t, write[0], i+1)
	}
	watch := check.StartWatch(t)
	check.NoError(t, lock.ReleaseKeys(ctx, read))
	check.NoError(t, lock.Release(ctx))
	world.WantOrder(t, waiters.Served(t), names)
	world.WantNotified(t, watch)
}
