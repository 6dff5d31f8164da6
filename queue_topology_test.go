package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A throng is many who wait for locks, and what is seen of it: in which order they had them, and
// whether two had at the same time what only one may have.
type throng struct {
	ctx context.Context
	wg  sync.WaitGroup

	mu      sync.Mutex
	writers map[string]string // key → who writes it
	readers map[string]int
	order   []string
	faults  []error
}

// newThrong makes one whose members give up if nothing moves any more.
func newThrong(t *testing.T) *throng {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return &throng{ctx: ctx, writers: make(map[string]string), readers: make(map[string]int)}
}

// hold takes note that somebody has its locks; leave, which has to be called before they are
// released, that it has them no more.
func (c *throng) hold(who string, write, read []string) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = append(c.order, who)
	for _, key := range write {
		if other, held := c.writers[key]; held || c.readers[key] > 0 {
			c.faults = append(c.faults, fmt.Errorf("%s writes %q, which %q writes and %d read", who, key, other, c.readers[key]))
		}
		c.writers[key] = who
	}
	for _, key := range read {
		if other, held := c.writers[key]; held {
			c.faults = append(c.faults, fmt.Errorf("%s reads %q, which %s writes", who, key, other))
		}
		c.readers[key]++
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, key := range write {
			delete(c.writers, key)
		}
		for _, key := range read {
			c.readers[key]--
		}
	}
}

// turn has its caller wait in line, hold the locks for a moment, and release them.
func (c *throng) turn(client *redislock.Client, who string, write, read []string) {
	opt := queue()
	opt.Metadata = who
	lock, err := client.ObtainMixed(c.ctx, write, read, long, opt)
	if err == nil {
		leave := c.hold(who, write, read)
		time.Sleep(time.Millisecond)
		leave()
		err = lock.Release(c.ctx)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults = append(c.faults, fmt.Errorf("%s: %w", who, err))
	}
}

// failed counts what went wrong until now.
func (c *throng) failed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.faults)
}

// line has so many stand in line for a set, by turns from each Client, in the order of their names,
// which it returns.
func (c *throng) line(t *testing.T, n int, set []string, clients ...*redislock.Client) []string {
	t.Helper()
	var names []string
	for i := range n {
		client, who := clients[i%len(clients)], fmt.Sprintf("%s#%02d", set[0], i)
		names = append(names, who)
		c.wg.Go(func() { c.turn(client, who, set, nil) })
		(&world{client: client}).inLine(t, set[0], i+1)
	}
	return names
}

// served waits for everybody, checks that all went well, and returns in which order they came.
func (c *throng) served(t *testing.T) []string {
	t.Helper()
	c.wg.Wait()
	for _, err := range c.faults {
		t.Error(err)
	}
	return c.order
}

// wereTold checks that those who had to be told were: who is not asks again within some 5 s.
func wereTold(t *testing.T, watch *stopwatch) {
	t.Helper()
	if took := watch.took(); took > soon {
		t.Errorf("it took %v, so they were not told but asked", took)
	}
}

func wantOrder(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got order %q, want %q", got, want)
	}
}

// wantNothing checks that a server knows no key of the prefix, and none beside one either.
func wantNothing(t *testing.T, rdb *redis.Client, prefix string) {
	t.Helper()
	if keys := must[[]string](t)(rdb.Keys(t.Context(), "*"+prefix+"*").Result()); len(keys) > 0 {
		t.Errorf("%q are left", keys)
	}
}

// wantOnlyGuards is wantNothing where a request may not have been answered.
func wantOnlyGuards(t *testing.T, rdb *redis.Client, prefix string) {
	t.Helper()
	keys := must[[]string](t)(rdb.Keys(t.Context(), "*"+prefix+"*").Result())
	if keys = check.WithoutGuards(t.Context(), rdb, keys...); len(keys) > 0 {
		t.Errorf("%q are left", keys)
	}
}

// listening returns the ids of the connections that hear a server's channels.
func listening(t *testing.T, rdb *redis.Client) []string {
	t.Helper()
	var ids []string
	for line := range strings.Lines(must[string](t)(rdb.Do(t.Context(), "client", "list", "type", "pubsub").Text())) {
		id, _, _ := strings.Cut(line, " ")
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// heard returns how many hear each channel that Clients wait on at a server.
func heard(t *testing.T, rdb *redis.Client, kind string) map[string]int {
	t.Helper()
	names := must[[]string](t)(rdb.Do(t.Context(), "pubsub", kind+"channels", "redislock:wake:*").StringSlice())
	args := []any{"pubsub", kind + "numsub"}
	for _, name := range names {
		args = append(args, name)
	}
	counts := must[[]any](t)(rdb.Do(t.Context(), args...).Slice())
	all := make(map[string]int)
	for i := 0; i+1 < len(counts); i += 2 {
		all[counts[i].(string)] = int(counts[i+1].(int64))
	}
	return all
}

func newClient(t *testing.T, rdb redis.Scripter, opts ...redislock.ClientOption) *redislock.Client {
	t.Helper()
	client := redislock.New(rdb, opts...)
	t.Cleanup(client.Close)
	return client
}

func TestQueueStandalone(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("protocol %d", protocol), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Redis)
			admin := server.Client(t)
			var clients []*redislock.Client
			for range 2 {
				clients = append(clients, newClient(t, server.Client(t, func(o *redis.Options) { o.Protocol = protocol })))
			}
			queueThrough(t, clients, func() int { return len(listening(t, admin)) })

			// A connection that is lost is replaced at once, and nobody loses its place.
			key := t.Name() + ":lost"
			holder := must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), []string{key}, long, nil))
			throng := newThrong(t)
			names := throng.line(t, 6, []string{key}, clients...)
			before := listening(t, admin)
			if n := must[int64](t)(admin.ClientKillByFilter(t.Context(), "type", "pubsub").Result()); n != 2 {
				t.Fatalf("%d connections were closed, want one of each Client", n)
			}
			eventually(t, 3*time.Second, "both hear again", func() bool {
				now := listening(t, admin)
				return len(now) == 2 && !slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) }) &&
					len(heard(t, admin, "")) == 2
			})
			noError(t, holder.Release(t.Context()))
			wantOrder(t, throng.served(t), names)
			wantNothing(t, admin, t.Name())
		})
	}
}

// queueThrough has waiters of all Clients stand in line for a set with one tag, and be served in
// order. While they wait so many connections listen as there are Clients.
func queueThrough(t *testing.T, clients []*redislock.Client, listening func() int) {
	t.Helper()
	set := []string{"{" + t.Name() + "}a", "{" + t.Name() + "}b"}
	holder := must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, long, queue()))
	throng := newThrong(t)
	names := throng.line(t, 8, set, clients...)
	if n := listening(); n != len(clients) {
		t.Errorf("%d connections listen, want one of each of %d Clients", n, len(clients))
	}
	watch := startWatch(t)
	noError(t, holder.Release(t.Context()))
	wantOrder(t, throng.served(t), names)
	wereTold(t, watch)
	states := must[[]redislock.KeyState](t)(clients[0].Inspect(t.Context(), set...))
	for _, state := range states {
		if len(state.Holders)+len(state.Line) > 0 {
			t.Errorf("got state %+v, want that of a free key", state)
		}
	}
}

// A wrapped client has a method of its own, and all others of what it embeds.
type wrapped struct{ *redis.ClusterClient }

func (wrapped) Mine() {}

// client returns a Client that is told what is wrapped.
func (w wrapped) client(t *testing.T) *redislock.Client {
	t.Helper()
	return newClient(t, w, redislock.WithWrapped(w.ClusterClient))
}

// A bare client can run scripts, and nothing else.
type bare struct{ redis.Scripter }

func TestQueueNeedsSubscriptions(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		client := newClient(t, bare{w.rdb})
		key := w.key("k")
		for _, obtain := range []func() error{
			func() error { _, err := client.Obtain(t.Context(), []string{key}, long, queue()); return err },
			func() error { _, err := client.ObtainRead(t.Context(), []string{key}, long, queue()); return err },
			func() error {
				return client.With(t.Context(), []string{key}, long, queue(), func(context.Context) error { return nil })
			},
		} {
			refusedUnsent(t, w.rdb, errors.ErrUnsupported, obtain)
		}
		lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, long, nil))
		noError(t, lock.Release(t.Context()))
	})
}

// A set of read keys that are free is had at once, whoever hears what.
func TestQueueReadsFreeKeys(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		keys := w.keys("a", "b")
		lock := must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), keys[:1], keys[1:], long, queue()))
		reader := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), keys[1:], long, queue()))
		noError(t, lock.Release(t.Context()))
		noError(t, reader.Release(t.Context()))
		w.wantNoTrace(t, keys...)
	})
}

func TestQueueRing(t *testing.T) {
	t.Parallel()
	servers := map[string]*redistest.Server{
		"one": redistest.Start(t, redistest.Redis), "two": redistest.Start(t, redistest.Redis),
	}
	newRing := func() *redis.Ring {
		rdb := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": servers["one"].Addr(), "two": servers["two"].Addr()}})
		t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	}
	ring := newRing()
	clients := []*redislock.Client{newClient(t, ring), newClient(t, newRing())}
	spanning(t, newRing())
	refusedUnsent(t, newRing(), redislock.ErrCrossSlot, func() error {
		_, err := newClient(t, newRing()).Obtain(t.Context(), []string{"a", "b"}, long, queue())
		return err
	})

	throng := newThrong(t)
	var holders []*redislock.Lock
	want := make(map[string][]string) // by address
	tags := make(map[string]int)
	for i := 0; i < 6 || len(tags) < 2; i++ {
		tag := fmt.Sprintf("{%s:%d}", t.Name(), i)
		shard := must[*redis.Client](t)(ring.GetShardClientForKey(tag)).Options().Addr
		set := []string{tag + "a", tag + "b"}
		holders = append(holders, must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, long, queue())))
		want[tag] = throng.line(t, 4, set, clients...)
		tags[shard]++
	}
	for _, server := range servers {
		admin := server.Client(t)
		channels := heard(t, admin, "")
		if got, want := len(channels), tags[server.Addr()]*len(clients); got != want {
			t.Errorf("got channels %v on one shard, want one for each Client of %d tags", channels, want)
		}
		if ids := listening(t, admin); len(ids) != len(clients) {
			t.Errorf("got connections %v on one shard, want one of each Client", ids)
		}
		if n := len(heard(t, admin, "shard")); n != 0 {
			t.Errorf("%d channels are sharded, want none", n)
		}
	}
	watch := startWatch(t)
	for _, holder := range holders {
		noError(t, holder.Release(t.Context()))
	}
	order := throng.served(t)
	wereTold(t, watch)
	for tag, names := range want {
		wantOrder(t, slices.DeleteFunc(slices.Clone(order), func(who string) bool { return !strings.HasPrefix(who, tag) }), names)
	}
	for _, server := range servers {
		wantNothing(t, server.Client(t), t.Name())
	}
}
