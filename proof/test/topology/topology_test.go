package topology_test

import (
	"context"
	"errors"
	"fmt"
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

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
	rdb := cluster.Client(t)
	client := redislock.New(rdb)
	t.Cleanup(client.Close)

	t.Run("goroutines over all slots", func(t *testing.T) { clusterHammer(t, cluster, client) })
	t.Run("NOSCRIPT on each node", func(t *testing.T) {
		for range 3 {
			for _, node := range cluster.Nodes() {
				check.NoError(t, node.Client(t).ScriptFlush(t.Context()).Err())
			}
			clusterHammer(t, cluster, client)
		}
	})
	t.Run("cold client", func(t *testing.T) {
		for _, node := range cluster.Nodes() {
			check.NoError(t, node.Client(t).ScriptFlush(t.Context()).Err())
		}
		cold := redislock.New(cluster.Client(t))
		defer cold.Close()
		clusterHammer(t, cluster, cold)
	})
	t.Run("spanning sets are refused unsent", func(t *testing.T) { world.WantSpanningRefused(t, cluster.Client(t)) })
	t.Run("edges of hash tags", func(t *testing.T) {
		for _, keys := range [][]string{
			{"{a}{b}", "x{a}", "{a}"}, {"foo{{bar}}zap", "{{bar}"}, {"{}a"}, {"a{b"}, {"a}b"}, {"}{"}, {"{}"}, {"é{ü}", "{ü}"},
		} {
			lock, err := client.Obtain(t.Context(), keys, world.Long, nil)
			if err != nil {
				t.Errorf("%q: %v", keys, err)
				continue
			}
			check.NoError(t, lock.Release(t.Context()))
		}
	})
	t.Run("inspect over many slots", func(t *testing.T) {
		var keys []string
		for i := range 30 {
			keys = append(keys, fmt.Sprintf("%s:%d", t.Name(), i))
			lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys[i:i+1], world.Long, &redislock.Options{Metadata: keys[i]}))
			defer func() { _ = lock.Release(t.Context()) }()
		}
		for i, state := range check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), keys)) {
			if state.Key != keys[i] || len(state.Holders) != 1 || state.Holders[0].Metadata != keys[i] {
				t.Errorf("got state %+v, want that of %q", state, keys[i])
			}
		}
	})
	t.Run("conflicts and intents", func(t *testing.T) {
		keys := []string{"{" + t.Name() + "}a", "{" + t.Name() + "}b"}
		reader := check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), keys, world.Long, nil))
		_, err := client.Obtain(t.Context(), keys, world.Long, nil)
		_ = world.WantConflict(t, err, keys[0], redislock.ModeRead)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			lock, err := client.Obtain(ctx, keys, world.Long, &redislock.Options{
				Intent: true, RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond),
			})
			if err == nil {
				err = lock.Release(ctx)
			}
			done <- err
		}()
		check.Eventually(t, 5*time.Second, "the writer keeps readers out", func() bool {
			lock, err := client.ObtainRead(ctx, keys, world.Long, nil)
			if err == nil {
				_ = lock.Release(ctx)
			}
			return errors.Is(err, redislock.ErrNotObtained)
		})
		check.NoError(t, reader.Release(ctx))
		check.NoError(t, <-done)
	})
	t.Run("watchdog", func(t *testing.T) {
		const ttl = 3 * time.Second
		var locks []*redislock.Lock
		for i := range 30 {
			keys := []string{fmt.Sprintf("{%s:%d}a", t.Name(), i), fmt.Sprintf("{%s:%d}b", t.Name(), i)}
			locks = append(locks, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, ttl, &redislock.Options{Watchdog: true})))
		}
		first := locks[len(locks)-1].Deadline()
		for _, lock := range locks {
			check.Eventually(t, 2*world.Polled, "it is renewed, for longer than it was to last", func() bool {
				return lock.Deadline().After(first.Add(ttl))
			})
			check.NoError(t, lock.Release(t.Context()))
		}
	})
	t.Run("a slot that moves", func(t *testing.T) { movingSlot(t, cluster, client) })
	t.Run("slots", func(t *testing.T) { clusterSlots(t, cluster, client) })
}

// clusterHammer does everything from several goroutines on keys of all nodes.
func clusterHammer(t *testing.T, cluster *redistest.Cluster, client *redislock.Client) {
	t.Helper()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 10 {
				prefix := fmt.Sprintf("{%s:%d:%d}", t.Name(), g, i)
				if err := world.Cycle(t.Context(), client, prefix); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, node := range cluster.Nodes() {
		keys := check.Must[[]string](t)(node.Client(t).Keys(t.Context(), "*"+t.Name()+":*").Result())
		if len(keys) > 0 {
			t.Errorf("%q are left", keys)
		}
	}
}

// movingSlot obtains a set whose slot is on its way: TRYAGAIN, ASK and MOVED are waited for.
func movingSlot(t *testing.T, cluster *redistest.Cluster, client *redislock.Client) {
	t.Helper()
	ctx, keys := t.Context(), []string{"{moving}a", "{moving}b"}
	from := cluster.MasterOf(keys[0])
	to := cluster.Nodes()[0]
	if to == from {
		to = cluster.Nodes()[1]
	}
	source, target := from.Client(t), to.Client(t)
	fromID := check.Must[string](t)(source.Do(ctx, "cluster", "myid").Text())
	toID := check.Must[string](t)(target.Do(ctx, "cluster", "myid").Text())
	slot := check.Must[int64](t)(source.ClusterKeySlot(ctx, keys[0]).Result())
	check.NoError(t, target.Do(ctx, "cluster", "setslot", slot, "importing", fromID).Err())
	check.NoError(t, source.Do(ctx, "cluster", "setslot", slot, "migrating", toID).Err())

	done := make(chan error, 1)
	go func() {
		lock, err := client.Obtain(ctx, keys, world.Long, nil)
		if err == nil {
			err = errors.Join(lock.Refresh(ctx, world.Long), lock.Release(ctx))
		}
		done <- err
	}()
	time.AfterFunc(100*time.Millisecond, func() {
		for _, node := range []*redis.Client{target, source} {
			if err := node.Do(ctx, "cluster", "setslot", slot, "node", toID).Err(); err != nil {
				t.Error(err)
			}
		}
	})
	check.NoError(t, <-done)
}

// clusterSlots compares what the library takes for one slot with what the server does.
func clusterSlots(t *testing.T, cluster *redistest.Cluster, client *redislock.Client) {
	t.Helper()
	node := cluster.Nodes()[0].Client(t)
	keys := []string{"a", "b", "{a}x", "{}a", "{a}{b}", "a{b", "foo{{bar}}zap", "{bar", "}{", "{a", "é", "\x00\xff{\x00}", "foo{}{bar}"}
	for i, one := range keys {
		for _, other := range keys[i+1:] {
			same := node.ClusterKeySlot(t.Context(), one).Val() == node.ClusterKeySlot(t.Context(), other).Val()
			lock, err := client.Obtain(t.Context(), []string{one, other}, world.Long, nil)
			if same != (err == nil) || !same && !errors.Is(err, redislock.ErrCrossSlot) {
				t.Errorf("%q and %q: got %v; one slot: %t", one, other, err, same)
			}
			if err == nil {
				check.NoError(t, lock.Release(t.Context()))
			}
		}
	}
}

// DESIGN section 11: Ring client, two holders of one set, because EVAL goes to the shard of the first
// key.
func TestRing(t *testing.T) {
	t.Parallel()
	for _, kind := range []redistest.Kind{redistest.Miniredis, redistest.Redis} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			var addrs [2]string
			for i := range addrs {
				if kind == redistest.Miniredis {
					addrs[i] = redistest.StartMini(t).Addr()
				} else {
					addrs[i] = redistest.Start(t, kind).Addr()
				}
			}
			newRing := func() *redis.Ring {
				rdb := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": addrs[0], "two": addrs[1]}})
				t.Cleanup(func() { _ = rdb.Close() })
				return rdb
			}
			world.WantSpanningRefused(t, newRing())
			rdb := newRing()
			client := redislock.New(rdb)
			t.Cleanup(client.Close)
			world.WantUnsent(t, newRing(), redislock.ErrCrossSlot, func() error {
				_, err := client.Obtain(t.Context(), []string{"a", "b"}, world.Long, nil)
				return err
			})
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 10 {
						if err := world.Cycle(t.Context(), client, fmt.Sprintf("{%s:%d:%d}", t.Name(), g, i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			ringSingles(t, rdb, client)
		})
	}
}

// ringSingles locks keys one by one, on both shards.
func ringSingles(t *testing.T, rdb *redis.Ring, client *redislock.Client) {
	t.Helper()
	keys := world.Numbered(t.Name(), 30)
	var locks []*redislock.Lock
	for _, key := range keys {
		locks = append(locks, check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), []string{key}, world.Long, nil)))
		_, err := client.Obtain(t.Context(), []string{key}, world.Long, nil)
		_ = world.WantConflict(t, err, key, redislock.ModeRead)
	}
	var used atomic.Int64
	check.NoError(t, rdb.ForEachShard(t.Context(), func(ctx context.Context, shard *redis.Client) error {
		if shard.DBSize(ctx).Val() > 0 {
			used.Add(1)
		}
		return nil
	}))
	states := check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), keys))
	for i, lock := range locks {
		if states[i].Mode != redislock.ModeRead {
			t.Errorf("got state %+v, want a read lock", states[i])
		}
		check.NoError(t, lock.Release(t.Context()))
	}
	if used.Load() != 2 {
		t.Errorf("%d shards were used, want both", used.Load())
	}
}

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	sentinels := redistest.StartSentinels(t, redistest.Redis, 2, 3)
	rdb := sentinels.Client(t, func(o *redis.FailoverOptions) { o.ReadTimeout = 300 * time.Millisecond })
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	watched := check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{t.Name()}, 15*time.Second, &redislock.Options{Watchdog: true}))
	plain := check.Must[*redislock.Lock](t)(client.ObtainRead(ctx, []string{t.Name() + ":read"}, world.Long, nil))
	world.CaughtUp(t, sentinels.Primary().Client(t), 2)
	sentinels.Primary().Kill()
	before := watched.Deadline()

	// Asking goes on through the fail-over, within the strategy.
	lock := check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{t.Name() + ":new"}, world.Long, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond),
	}))
	check.NoError(t, lock.Release(ctx))
	check.Eventually(t, time.Minute, "the watched lock is renewed or lost", func() bool {
		select {
		case <-watched.Lost():
			return true
		default:
			return watched.Deadline().After(before)
		}
	})
	select {
	case <-watched.Lost():
		t.Error("a lock that was replicated is lost, though its lease outlasts the fail-over")
	default:
		_, err := client.Obtain(ctx, []string{t.Name()}, world.Long, nil)
		_ = world.WantConflict(t, err, t.Name(), redislock.ModeWrite)
		check.NoError(t, watched.Release(ctx))
	}
	check.NoError(t, plain.Refresh(ctx, world.Long))
	check.NoError(t, plain.Release(ctx))
}
