package multi_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// prefixed makes a Client that puts a prefix in front of its keys.
func prefixed(t *testing.T, rdb redis.Scripter, prefix string) *redislock.Client {
	t.Helper()
	client := redislock.New(rdb, redislock.WithKeyPrefix(prefix))
	t.Cleanup(client.Close)
	return client
}

// The slots are those of the whole names: lock:foo 10995, lock:bar 5792, lock:hello 6924; {foo} 12182, {bar} 5061.
func TestBySlotBehindAPrefix(t *testing.T) {
	t.Parallel()
	client := prefixed(t, redistest.StartMini(t).Client(t), "lock:")
	got := multi.BySlot(client, redislock.Set{Write: []string{"foo", "hello", "{foo}2", "{foo}1"}, Read: []string{"bar", "x{bar}"}})
	want := []multi.Part{
		{Set: redislock.Set{Read: []string{"x{bar}"}}},
		{Set: redislock.Set{Read: []string{"bar"}}},
		{Set: redislock.Set{Write: []string{"hello"}}},
		{Set: redislock.Set{Write: []string{"foo"}}},
		{Set: redislock.Set{Write: []string{"{foo}2", "{foo}1"}}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(multi.Part{}, "Client")); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// A lock over many slots of a Cluster through a Client with a prefix has the keys that the whole names say, with hash tags
// and without, and is told without the prefix.
func TestPrefixedCluster(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartCluster(t, redistest.Redis, 3, 0).Client(t)
	prefix := t.Name() + ":"
	client := prefixed(t, rdb, prefix)
	write, read := []string{"a", "b", "{c}1", "d}", "{c}2"}, []string{"e", "{f}", "x{c}"}
	all := slices.Sorted(slices.Values(slices.Concat(write, read)))
	lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), multi.BySlot(client, redislock.Set{Write: write, Read: read}), long, &redislock.Options{Fenced: true, Metadata: "other"}))
	var held []string
	for _, part := range lock.Parts() {
		held = append(held, part.Keys...)
		if part.Fence == 0 {
			t.Errorf("no number for %q", part.Keys)
		}
	}
	slices.Sort(held)
	if diff := cmp.Diff(all, held); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	wantThere := func(n int64) {
		t.Helper()
		for _, key := range all {
			if got := must[int64](t)(rdb.Exists(bounded(t), prefix+key).Result()); got != n {
				t.Errorf("%q is there %d times, want %d", prefix+key, got, n)
			}
		}
	}
	wantThere(1)
	noError(t, lock.Refresh(bounded(t), long))
	_, err := multi.Obtain(bounded(t), multi.BySlot(client, redislock.Set{Write: []string{"free", "{c}2"}}), long, nil)
	wantConflict(t, err, "{c}2", "of 2")
	if strings.Contains(err.Error(), prefix) {
		t.Errorf("got error %q, which shows the prefix", err)
	}
	_, err = multi.Obtain(bounded(t), []multi.Part{
		{Client: client, Set: redislock.Set{Write: []string{"{z}"}}}, {Client: client, Set: redislock.Set{Write: []string{"{c}1", "c"}}}, // without a prefix one slot
	}, long, nil)
	wantIs(t, err, redislock.ErrCrossSlot)
	noError(t, lock.Release(bounded(t)))
	wantThere(0)
}

// Parts are taken in the order of their whole names. So callers whose Clients have different prefixes, and which name the
// same keys, do not wait for each other in a circle.
func TestPrefixedOrder(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartCluster(t, redistest.Redis, 3, 0).Client(t)
	whole := redislock.New(rdb)
	t.Cleanup(whole.Close)
	base := t.Name() + ":"
	type caller struct {
		client *redislock.Client
		key    func(k int) string
	}
	callers := []caller{
		{whole, func(k int) string { return fmt.Sprint(base, "lock:", k) }},
		{prefixed(t, rdb, base), func(k int) string { return fmt.Sprint("lock:", k) }},
		{prefixed(t, rdb, base+"lock:"), func(k int) string { return fmt.Sprint(k) }},
	}
	const keys, rounds = 12, 8
	var want []string // the order in which whole takes them
	for i, c := range callers {
		var parts []multi.Part
		for _, k := range rand.Perm(keys) {
			parts = append(parts, multi.Part{Client: c.client, Place: "cluster", Set: redislock.Set{Write: []string{c.key(k)}}})
		}
		lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), parts, long, nil))
		var got []string
		for _, part := range lock.Parts() {
			got = append(got, c.client.RedisKey(part.Keys[0]))
		}
		noError(t, lock.Release(bounded(t)))
		if i == 0 {
			want = got
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("order of caller %d (-want +got):\n%s", i, diff)
		}
	}
	var inside [keys]atomic.Int32
	var all sync.WaitGroup
	ctx := bounded(t)
	for worker := range 2 * len(callers) {
		c := callers[worker%len(callers)]
		all.Go(func() {
			for range rounds {
				chosen := rand.Perm(keys)[:4]
				var names []string
				for _, k := range chosen {
					names = append(names, c.key(k))
				}
				lock, err := multi.Obtain(ctx, multi.BySlot(c.client, redislock.Set{Write: names}), long, &redislock.Options{Queue: true, Watchdog: true})
				if err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
				for _, k := range chosen {
					if n := inside[k].Add(1); n != 1 {
						t.Errorf("%d hold key %d", n, k)
					}
				}
				for _, k := range chosen {
					inside[k].Add(-1)
				}
				noError(t, lock.Release(ctx))
			}
		})
	}
	waitFor(t, &all)
}

// On a Ring the order within a slot is that of the whole tags.
func TestPrefixedOrderOnARing(t *testing.T) {
	t.Parallel()
	addrs := map[string]string{"one": redistest.Shared(t, redistest.Redis).Addr(), "two": redistest.Shared(t, redistest.Redis).Addr()}
	rdb := redis.NewRing(&redis.RingOptions{Addrs: addrs})
	t.Cleanup(func() { _ = rdb.Close() })
	prefix := t.Name() + ":"
	short, whole := prefixed(t, rdb, prefix), redislock.New(rdb)
	t.Cleanup(whole.Close)
	keys := []string{"{z}", "a", "{b}x", "m", "{b}y"}
	taken := func(client *redislock.Client, put string) (order []string) {
		t.Helper()
		var parts []multi.Part
		for _, key := range keys {
			parts = append(parts, multi.Part{Client: client, Set: redislock.Set{Write: []string{put + key}}})
		}
		lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), parts, long, nil))
		for _, part := range lock.Parts() {
			for _, key := range part.Keys {
				order = append(order, client.RedisKey(key))
			}
		}
		noError(t, lock.Release(bounded(t)))
		return order
	}
	if diff := cmp.Diff(taken(whole, prefix), taken(short, "")); diff != "" {
		t.Errorf("order (-whole +short):\n%s", diff)
	}
}
