package multi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
	rdb := cluster.Client(t)
	client := redislock.New(rdb)
	t.Cleanup(client.Close)

	t.Run("slots are those of the server", func(t *testing.T) { slots(t, cluster, client) })
	t.Run("by slot", func(t *testing.T) { bySlot(t, rdb, client) })
	t.Run("a part of two slots is refused unsent", func(t *testing.T) {
		rdb := cluster.Client(t)
		sent := check.Count(rdb, "")
		client := redislock.New(rdb)
		_, err := multi.Obtain(bounded(t), []multi.Part{
			{Client: client, Set: redislock.Set{Write: []string{"{b}x"}}}, {Client: client, Set: redislock.Set{Write: []string{"{c}x", "{b}y"}}},
		}, long, nil)
		wantIs(t, err, redislock.ErrCrossSlot)
		if n := sent.Load(); n != 0 || !strings.Contains(err.Error(), "part 2 of 2") {
			t.Errorf("got %d commands and error %q", n, err)
		}
	})
	for _, queue := range []bool{false, true} {
		t.Run(fmt.Sprintf("hammer, queue %t", queue), func(t *testing.T) { hammer(t, rdb, client, queue) })
	}
}

// slots compares the slots that BySlot sorts by with those of the server.
func slots(t *testing.T, cluster *redistest.Cluster, client *redislock.Client) {
	t.Helper()
	node := cluster.Nodes()[0].Client(t)
	slotOf := func(key string) int64 { return must[int64](t)(node.ClusterKeySlot(bounded(t), key).Result()) }
	keys := []string{"a", "b", "{a}x", "{}a", "{a}{b}", "a{b", "foo{{bar}}zap", "{bar", "}{", "{a", "é", "\x00\xff{\x00}", "foo{}{bar}", "foo{bar}", "bar"}
	for i := range 300 {
		keys = append(keys, fmt.Sprintf("k%d{%d}", i, i%40), fmt.Sprintf("order:%d", i))
	}
	parts := multi.BySlot(client, redislock.Set{Write: keys})
	last, n := int64(-1), 0
	for _, p := range parts {
		for _, key := range p.Write {
			n++
			if got := slotOf(key); got != slotOf(p.Write[0]) || got <= last {
				t.Errorf("%q is in slot %d, its part in %d, the part before in %d", key, got, slotOf(p.Write[0]), last)
			}
		}
		last = slotOf(p.Write[0])
	}
	if n != len(keys) {
		t.Errorf("got %d keys of %d", n, len(keys))
	}
}

// bySlot takes keys of many slots, and parts of one slot that are given apart.
func bySlot(t *testing.T, rdb *redis.ClusterClient, client *redislock.Client) {
	t.Helper()
	key := func(name string) string { return t.Name() + name }
	parts := multi.BySlot(client, redislock.Set{Write: []string{key("{1}a"), key("{2}a"), key("{1}b")}, Read: []string{key("{3}r")}})
	if len(parts) != 3 {
		t.Fatalf("got %d parts, want 3", len(parts))
	}
	parts = append(parts, multi.Part{Client: client, Set: redislock.Set{Write: []string{key("{2}late")}}})
	lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), parts, long, &redislock.Options{Fenced: true, Metadata: "other"}))
	sizes := map[string]int{}
	for _, held := range lock.Parts() {
		sizes[strings.SplitAfter(held.Keys[0], "}")[0]] = len(held.Keys)
		if held.Fence == 0 {
			t.Errorf("no number for %q", held.Keys)
		}
	}
	if diff := cmp.Diff(map[string]int{key("{1}"): 2, key("{2}"): 2, key("{3}"): 1}, sizes); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	one, other := neighbours(t)
	near := must[*multi.Lock](t)(multi.Obtain(bounded(t), []multi.Part{
		{Client: client, Set: redislock.Set{Write: []string{one}}}, {Client: client, Set: redislock.Set{Write: []string{other}}}, {Client: client, Set: redislock.Set{Read: []string{"far"}}},
	}, long, nil))
	if got := len(near.Parts()); got != 2 {
		t.Errorf("got %d parts of two slots", got)
	}
	noError(t, near.Release(bounded(t)))
	_, err := multi.Obtain(bounded(t), multi.BySlot(client, redislock.Set{Write: []string{key("{3}r"), key("{4}free")}}), long, nil)
	wantConflict(t, err, key("{3}r"), "of 2")
	noError(t, lock.Release(bounded(t)))
	for _, name := range []string{"{1}a", "{1}b", "{2}a", "{2}late", "{3}r", "{4}free"} {
		if n := must[int64](t)(rdb.Exists(bounded(t), key(name)).Result()); n != 0 {
			t.Errorf("%q is left", name)
		}
	}
}

// hammer has many goroutines take random parts in random order: each gets its turn, and nobody is inside together with
// another.
func hammer(t *testing.T, rdb *redis.ClusterClient, client *redislock.Client, queue bool) {
	t.Helper()
	const keys, workers, rounds = 8, 10, 12
	other := redislock.New(rdb)
	t.Cleanup(other.Close)
	ctx, cancel := context.WithTimeout(bounded(t), 90*time.Second)
	defer cancel()
	name := func(k int) string { return fmt.Sprintf("%s:{%d}:%d", t.Name(), k/2, k) } // two in each slot
	// Writers count 1000, readers 1.
	var inside [keys]atomic.Int32
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			c := []*redislock.Client{client, other}[worker%2]
			opt := &redislock.Options{RetryStrategy: redislock.ExponentialBackoff(time.Millisecond, 20*time.Millisecond)}
			if queue {
				opt.Queue, opt.Watchdog = true, true
			}
			for range rounds {
				weights := make(map[int]int32)
				var parts []multi.Part
				for _, k := range rand.Perm(keys)[:3] { // in random order, one slot perhaps twice
					if rand.N(3) == 0 {
						parts = append(parts, multi.Part{Client: c, Set: redislock.Set{Read: []string{name(k)}}})
						weights[k] = 1
					} else {
						parts = append(parts, multi.Part{Client: c, Set: redislock.Set{Write: []string{name(k)}}})
						weights[k] = 1000
					}
				}
				lock, err := multi.Obtain(ctx, parts, 10*time.Second, opt)
				if err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
				for k, weight := range weights {
					if now := inside[k].Add(weight); now >= 1000 && now != 1000 {
						t.Errorf("key %d: a writer is not alone: %d", k, now)
					}
				}
				time.Sleep(rand.N(2 * time.Millisecond))
				for k, weight := range weights {
					inside[k].Add(-weight)
				}
				if err := lock.Release(ctx); err != nil {
					t.Errorf("worker %d: %v", worker, err)
				}
			}
		})
	}
	waitFor(t, &wg)
	for k := range keys {
		if n := must[int64](t)(rdb.Exists(bounded(t), name(k)).Result()); n != 0 {
			t.Errorf("%q is left", name(k))
		}
	}
}

// One server: some callers take its keys in several parts, and others stand in line for all keys as one part.
func TestOneServerHammer(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(bounded(t), 60*time.Second)
		defer cancel()
		keys := []string{w.key("1"), w.key("2"), w.key("3"), w.key("4")}
		opt := &redislock.Options{Queue: true, Watchdog: true}
		var inside atomic.Int32
		var wg sync.WaitGroup
		for worker := range 6 {
			wg.Go(func() {
				for range 15 {
					var release func(context.Context) error
					if worker%2 == 0 {
						lock, err := multi.Obtain(ctx, multi.BySlot(w.clients[0], redislock.Set{Write: keys}), long, opt)
						if err != nil {
							t.Error(err)
							return
						}
						release = lock.Release
					} else {
						lock, err := w.clients[0].Obtain(ctx, keys, long, opt)
						if err != nil {
							t.Error(err)
							return
						}
						release = lock.Release
					}
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d are inside", n)
					}
					inside.Add(-1)
					noError(t, release(ctx))
				}
			})
		}
		waitFor(t, &wg)
	})
}

// neighbours are two keys of one slot without a common hash tag.
func neighbours(t *testing.T) (one, other string) {
	t.Helper()
	var keys []string
	for i := range 1<<14 + 1 { // one more than there are slots
		keys = append(keys, fmt.Sprint(t.Name(), i))
	}
	for _, p := range multi.BySlot(nil, redislock.Set{Write: keys}) {
		if len(p.Write) > 1 {
			return p.Write[0], p.Write[1]
		}
	}
	t.Fatal("no two keys are in one slot")
	return "", ""
}

// On a Ring what has one hash tag is one part; another tag is another one, also in the same slot.
func TestRing(t *testing.T) {
	t.Parallel()
	addrs := map[string]string{}
	for _, name := range []string{"one", "two"} {
		addrs[name] = redistest.Shared(t, redistest.Redis).Addr()
	}
	rdb := redis.NewRing(&redis.RingOptions{Addrs: addrs})
	t.Cleanup(func() { _ = rdb.Close() })
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	var parts []multi.Part
	for _, name := range []string{"{x}b", "{y}a", "{x}a"} {
		parts = append(parts, multi.Part{Client: client, Set: redislock.Set{Write: []string{name + t.Name()}}})
	}
	lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), parts, long, nil))
	defer lock.Release(bounded(t))
	if got := len(lock.Parts()); got != 2 {
		t.Errorf("got %d parts of two hash tags", got)
	}
	one, other := neighbours(t)
	near := must[*multi.Lock](t)(multi.Obtain(bounded(t), []multi.Part{
		{Client: client, Set: redislock.Set{Write: []string{one}}}, {Client: client, Set: redislock.Set{Write: []string{other}}},
	}, long, nil))
	defer near.Release(bounded(t))
	if got := len(near.Parts()); got != 2 {
		t.Errorf("got %d parts of two keys in one slot", got)
	}
}
