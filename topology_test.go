package redislock_test

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
	"github.com/seed-14de3678/redislock/internal/redistest"
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
				noError(t, node.Client(t).ScriptFlush(t.Context()).Err())
			}
			clusterHammer(t, cluster, client)
		}
	})
	t.Run("cold client", func(t *testing.T) {
		for _, node := range cluster.Nodes() {
			noError(t, node.Client(t).ScriptFlush(t.Context()).Err())
		}
		cold := redislock.New(cluster.Client(t))
		defer cold.Close()
		clusterHammer(t, cluster, cold)
	})
	t.Run("spanning sets are refused unsent", func(t *testing.T) { spanning(t, cluster.Client(t)) })
	t.Run("edges of hash tags", func(t *testing.T) {
		for _, keys := range [][]string{
			{"{a}{b}", "x{a}", "{a}"}, {"foo{{bar}}zap", "{{bar}"}, {"{}a"}, {"a{b"}, {"a}b"}, {"}{"}, {"{}"}, {"é{ü}", "{ü}"},
		} {
			lock, err := client.Obtain(t.Context(), keys, long, nil)
			if err != nil {
				t.Errorf("%q: %v", keys, err)
				continue
			}
			noError(t, lock.Release(t.Context()))
		}
	})
	t.Run("inspect over many slots", func(t *testing.T) {
		var keys []string
		for i := range 30 {
			keys = append(keys, fmt.Sprintf("%s:%d", t.Name(), i))
			lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), keys[i:i+1], long, &redislock.Options{Metadata: keys[i]}))
			defer func() { _ = lock.Release(t.Context()) }()
		}
		for i, state := range must[[]redislock.KeyState](t)(client.Inspect(t.Context(), keys...)) {
			if state.Key != keys[i] || len(state.Holders) != 1 || state.Holders[0].Metadata != keys[i] {
				t.Errorf("got state %+v, want that of %q", state, keys[i])
			}
		}
	})
	t.Run("conflicts and intents", func(t *testing.T) {
		keys := []string{"{" + t.Name() + "}a", "{" + t.Name() + "}b"}
		reader := must[*redislock.Lock](t)(client.ObtainRead(t.Context(), keys, long, nil))
		_, err := client.Obtain(t.Context(), keys, long, nil)
		_ = wantConflict(t, err, keys[0], redislock.ModeRead)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			lock, err := client.Obtain(ctx, keys, long, &redislock.Options{
				Intent: true, RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond),
			})
			if err == nil {
				err = lock.Release(ctx)
			}
			done <- err
		}()
		eventually(t, 5*time.Second, "the writer keeps readers out", func() bool {
			lock, err := client.ObtainRead(ctx, keys, long, nil)
			if err == nil {
				_ = lock.Release(ctx)
			}
			return errors.Is(err, redislock.ErrNotObtained)
		})
		noError(t, reader.Release(ctx))
		noError(t, <-done)
	})
	t.Run("watchdog", func(t *testing.T) {
		const ttl = 3 * time.Second
		var locks []*redislock.Lock
		for i := range 30 {
			keys := []string{fmt.Sprintf("{%s:%d}a", t.Name(), i), fmt.Sprintf("{%s:%d}b", t.Name(), i)}
			locks = append(locks, must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, ttl, &redislock.Options{Watchdog: true})))
		}
		first := locks[len(locks)-1].Deadline()
		for _, lock := range locks {
			eventually(t, 2*polled, "it is renewed, for longer than it was to last", func() bool {
				return lock.Deadline().After(first.Add(ttl))
			})
			noError(t, lock.Release(t.Context()))
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
				if err := cycle(t.Context(), client, prefix); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, node := range cluster.Nodes() {
		keys := must[[]string](t)(node.Client(t).Keys(t.Context(), "*"+t.Name()+":*").Result())
		if len(keys) > 0 {
			t.Errorf("%q are left", keys)
		}
	}
}

// spanning checks that a set which has no one place is refused, naming two keys that disagree.
func spanning(t *testing.T, rdb interface {
	redis.Scripter
	AddHook(redis.Hook)
},
) {
	t.Helper()
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	keys := []string{"{x}a", "{x}b", "{y}c"}
	for name, do := range map[string]func() error{
		"obtain": func() error { _, err := client.Obtain(t.Context(), keys, long, nil); return err },
		"read":   func() error { _, err := client.ObtainRead(t.Context(), keys, long, nil); return err },
		"mixed":  func() error { _, err := client.ObtainMixed(t.Context(), keys[:2], keys[2:], long, nil); return err },
		"with": func() error {
			return client.With(t.Context(), keys, long, nil, func(context.Context) error { return nil })
		},
		"attached": func() error { return client.Attach(keys, "t").Release(t.Context()) },
	} {
		var err error
		refusedUnsent(t, rdb, redislock.ErrCrossSlot, func() error { err = do(); return err })
		if !strings.Contains(err.Error(), `"{x}a"`) || !strings.Contains(err.Error(), `"{y}c"`) {
			t.Errorf("%s: got error %v, want one that names two keys which disagree", name, err)
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
	fromID := must[string](t)(source.Do(ctx, "cluster", "myid").Text())
	toID := must[string](t)(target.Do(ctx, "cluster", "myid").Text())
	slot := must[int64](t)(source.ClusterKeySlot(ctx, keys[0]).Result())
	noError(t, target.Do(ctx, "cluster", "setslot", slot, "importing", fromID).Err())
	noError(t, source.Do(ctx, "cluster", "setslot", slot, "migrating", toID).Err())

	done := make(chan error, 1)
	go func() {
		lock, err := client.Obtain(ctx, keys, long, nil)
		if err == nil {
			err = errors.Join(lock.Refresh(ctx, long), lock.Release(ctx))
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
	noError(t, <-done)
}

// clusterSlots compares what the library takes for one slot with what the server does.
func clusterSlots(t *testing.T, cluster *redistest.Cluster, client *redislock.Client) {
	t.Helper()
	node := cluster.Nodes()[0].Client(t)
	keys := []string{"a", "b", "{a}x", "{}a", "{a}{b}", "a{b", "foo{{bar}}zap", "{bar", "}{", "{a", "é", "\x00\xff{\x00}", "foo{}{bar}"}
	for i, one := range keys {
		for _, other := range keys[i+1:] {
			same := node.ClusterKeySlot(t.Context(), one).Val() == node.ClusterKeySlot(t.Context(), other).Val()
			lock, err := client.Obtain(t.Context(), []string{one, other}, long, nil)
			if same != (err == nil) || !same && !errors.Is(err, redislock.ErrCrossSlot) {
				t.Errorf("%q and %q: got %v; one slot: %t", one, other, err, same)
			}
			if err == nil {
				noError(t, lock.Release(t.Context()))
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
			spanning(t, newRing())
			rdb := newRing()
			client := redislock.New(rdb)
			t.Cleanup(client.Close)
			refusedUnsent(t, newRing(), redislock.ErrCrossSlot, func() error {
				_, err := client.Obtain(t.Context(), []string{"a", "b"}, long, nil)
				return err
			})
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 10 {
						if err := cycle(t.Context(), client, fmt.Sprintf("{%s:%d:%d}", t.Name(), g, i)); err != nil {
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
	keys := numbered(t.Name(), 30)
	var locks []*redislock.Lock
	for _, key := range keys {
		locks = append(locks, must[*redislock.Lock](t)(client.ObtainRead(t.Context(), []string{key}, long, nil)))
		_, err := client.Obtain(t.Context(), []string{key}, long, nil)
		_ = wantConflict(t, err, key, redislock.ModeRead)
	}
	var used atomic.Int64
	noError(t, rdb.ForEachShard(t.Context(), func(ctx context.Context, shard *redis.Client) error {
		if shard.DBSize(ctx).Val() > 0 {
			used.Add(1)
		}
		return nil
	}))
	states := must[[]redislock.KeyState](t)(client.Inspect(t.Context(), keys...))
	for i, lock := range locks {
		if states[i].Mode != redislock.ModeRead {
			t.Errorf("got state %+v, want a read lock", states[i])
		}
		noError(t, lock.Release(t.Context()))
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

	watched := must[*redislock.Lock](t)(client.Obtain(ctx, []string{t.Name()}, 15*time.Second, &redislock.Options{Watchdog: true}))
	plain := must[*redislock.Lock](t)(client.ObtainRead(ctx, []string{t.Name() + ":read"}, long, nil))
	if n := must[int64](t)(rdb.Wait(ctx, 2, time.Second).Result()); n != 2 {
		t.Fatalf("%d replicas have the locks, want 2", n)
	}
	sentinels.Primary().Kill()
	before := watched.Deadline()

	// Asking goes on through the fail-over, within the strategy.
	lock := must[*redislock.Lock](t)(client.Obtain(ctx, []string{t.Name() + ":new"}, long, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond),
	}))
	noError(t, lock.Release(ctx))
	eventually(t, time.Minute, "the watched lock is renewed or lost", func() bool {
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
		_, err := client.Obtain(ctx, []string{t.Name()}, long, nil)
		_ = wantConflict(t, err, t.Name(), redislock.ModeWrite)
		noError(t, watched.Release(ctx))
	}
	noError(t, plain.Refresh(ctx, long))
	noError(t, plain.Release(ctx))
}
