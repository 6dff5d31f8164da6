package topology_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Many ask at once, of several replicas or none, for the same keys and for others.
func TestReplicasHammer(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 2)
	clients := []*redislock.Client{m.Client, m.acked(t, 1), m.acked(t, 2)}
	waiters := world.NewWaiters(t)
	for g := range 32 {
		waiters.WG.Go(func() {
			for i := range 10 {
				shared := []string{m.Key(fmt.Sprint(i % 3)), m.Key(fmt.Sprint((i + 1 + g%2) % 3))}
				for _, keys := range [][]string{shared, {m.Key(fmt.Sprint("own", g))}} {
					visitWith(waiters, clients[g%3], fmt.Sprint(keys, g, i), keys, nil, &redislock.Options{
						Fenced: true, RetryStrategy: redislock.ExponentialBackoff(time.Millisecond, 20*time.Millisecond),
					})
				}
			}
		})
	}
	waiters.Served(t)
	t.Logf("the replicas were waited for %d times", m.asked(t))
	for i := range 32 {
		m.WantFree(t, m.Key(fmt.Sprint("own", i)), m.Key(fmt.Sprint(i%3)))
	}
}

// The replicas of a Cluster's master are asked about what was written there, also by a Client that does
// not know the Cluster yet, or no longer.
func TestReplicasCluster(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 1)
	masters := s.Nodes()[:3]
	newClient := func(t *testing.T) *redislock.Client {
		t.Helper()
		return world.NewClient(t, s.Client(t), redislock.WithReplicas(1))
	}
	all := func(t *testing.T, client *redislock.Client, tags []string, opt *redislock.Options) {
		t.Helper()
		var wg sync.WaitGroup
		for _, tag := range tags {
			wg.Go(func() {
				lock, err := client.ObtainSet(t.Context(), redislock.Set{Write: []string{tag + "a"}, Read: []string{tag + "b"}}, world.Long, opt)
				if err == nil {
					err = errors.Join(lock.Refresh(t.Context(), world.Long), lock.Downgrade(t.Context()), lock.Release(t.Context()))
				}
				if err != nil {
					t.Errorf("%s: %v", tag, err)
				}
			})
		}
		wg.Wait()
	}
	patient := &redislock.Options{Fenced: true, RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)}
	t.Run("cold", func(t *testing.T) {
		for _, node := range masters {
			check.NoError(t, s.Admin[node].ScriptFlush(t.Context()).Err())
		}
		all(t, newClient(t), s.Tags(t, 10, masters...), patient)
	})
	t.Run("moved", func(t *testing.T) {
		tags, client := s.Tags(t, 5, masters[0]), newClient(t)
		all(t, client, tags, patient)
		for _, tag := range tags {
			s.StartMove(tag, masters[1]).Finish()
		}
		all(t, client, tags, patient)
	})
	for at := begun; at <= moved; at++ {
		t.Run("on its way "+at.String(), func(t *testing.T) {
			tag := s.Tags(t, 1, masters[0])[0]
			h := world.LockKinds[2].Hold(t, newClient(t), tag, 6*time.Second, true)
			h.Contest(t, s.NewClient(t))
			finish := moveTo(s, at, h.Keys, masters[1])
			refreshed := make(chan error, 1)
			go func() { refreshed <- h.Lock.Refresh(t.Context(), 6*time.Second) }()
			if at != half { // then it waits
				check.NoError(t, <-refreshed)
				h.Renewed(t, 6*time.Second)
			}
			finish()
			if at == half {
				check.NoError(t, <-refreshed)
			}
			check.NoError(t, h.Lock.Refresh(t.Context(), world.Long))
			check.NoError(t, h.Release(t))
			check.NoError(t, h.Succeeded(t).Release(t.Context()))
		})
	}
	t.Run("one is silent", func(t *testing.T) {
		client := newClient(t)
		all(t, client, s.Tags(t, 1, masters...), patient)
		silent := s.ReplicaOf(masters[2])
		silent.Pause()
		defer silent.Resume()
		tag := s.Tags(t, 1, masters[2])[0]
		lock, err := client.Obtain(t.Context(), []string{tag}, world.Long, world.Fenced())
		wantUnreplicated(t, lock, err)
		all(t, client, s.Tags(t, 3, masters[:2]...), patient)
		all(t, s.NewClient(t), []string{tag}, nil)
	})
}

// Each shard of a Ring has replicas of its own.
func TestReplicasRing(t *testing.T) {
	t.Parallel()
	shards := map[string]*mirror{"one": newMirror(t, 1), "two": newMirror(t, 1)}
	addrs := make(map[string]string)
	for name, m := range shards {
		addrs[name] = m.primary.Addr()
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: addrs})
	t.Cleanup(func() { _ = ring.Close() })
	patient := redislock.LinearBackoff(10 * time.Millisecond)
	client, opt := world.NewClient(t, ring, redislock.WithReplicas(1)), &redislock.Options{RetryStrategy: patient}
	silent := shards["two"].replicas[0]
	used := make(map[bool]int)
	for i := 0; i < 10 || len(used) < 2; i++ {
		keys := []string{fmt.Sprintf("{%s:%d}a", t.Name(), i), fmt.Sprintf("{%s:%d}b", t.Name(), i)}
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, world.Long, opt))
		check.NoError(t, lock.Refresh(t.Context(), world.Long))
		check.NoError(t, lock.Release(t.Context()))
		silenced := check.Must[*redis.Client](t)(ring.GetShardClientForKey(keys[0])).Options().Addr == addrs["two"]
		if used[silenced]++; used[silenced] > 2 {
			continue
		}
		silent.Pause()
		if silenced {
			opt.RetryStrategy = nil
		}
		lock, err := client.Obtain(t.Context(), keys, world.Long, opt)
		opt.RetryStrategy = patient
		silent.Resume()
		if silenced {
			wantUnreplicated(t, lock, err)
			shards["two"].freedSoon(t, keys...)
		} else {
			check.NoError(t, err)
			check.NoError(t, lock.Release(t.Context()))
		}
	}
}

// What all replicas have acknowledged is there after the primary was killed at any moment, whichever of
// them takes its place.
func TestReplicasKilled(t *testing.T) {
	everyReplicated(t, 2, func(t *testing.T, r *replicated) {
		const enough = 300
		client, had := r.client(t, redislock.WithReplicas(2)), make(chan *redislock.Lock, 2*enough)
		var wg sync.WaitGroup
		var killed atomic.Bool
		for g := range 16 {
			wg.Go(func() {
				for i := range cap(had) / 16 {
					lock, err := client.Obtain(t.Context(), []string{fmt.Sprintf("%s%d:%d", r.tag, g, i)}, world.Long, nil)
					switch {
					case err == nil:
						had <- lock
					case killed.Load() || !errors.Is(err, redislock.ErrNotReplicated):
						return
					}
				}
			})
		}
		check.Eventually(t, 30*time.Second, "there are many locks", func() bool { return len(had) >= enough })
		killed.Store(true)
		r.former.Kill()
		successor := r.await().Client(t)
		wg.Wait()
		close(had)
		for lock := range had {
			if value := successor.Get(t.Context(), lock.Keys()[0]).Val(); value != lock.Token() {
				t.Errorf("%q is %q at the new primary, want the token", lock.Keys(), value)
			}
		}
	})
}
