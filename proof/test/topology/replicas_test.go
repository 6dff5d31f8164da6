package topology_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A mirror is a primary with replicas, without anybody who would promote one.
type mirror struct {
	*world.World
	primary  *redistest.Server
	replicas []*redistest.Server
}

func newMirror(t *testing.T, replicas int, opts ...redislock.ClientOption) *mirror {
	t.Helper()
	m := &mirror{primary: redistest.Start(t, redistest.Redis)}
	for range replicas {
		m.replicas = append(m.replicas, redistest.Start(t, redistest.Redis, "--replicaof", "127.0.0.1", fmt.Sprint(m.primary.Port())))
	}
	m.World = world.New(t, m.primary, opts...)
	world.CaughtUp(t, m.RDB, replicas)
	m.forget(t)
	return m
}

// forget has the server count anew.
func (m *mirror) forget(t *testing.T) {
	t.Helper()
	check.NoError(t, m.RDB.ConfigResetStat(t.Context()).Err())
}

// freedSoon waits until none of the keys is held.
func (m *mirror) freedSoon(t *testing.T, keys ...string) {
	t.Helper()
	check.Eventually(t, 10*time.Second, "the keys are free", func() bool {
		return check.Must[int64](t)(m.RDB.Exists(t.Context(), keys...).Result()) == 0
	})
}

// acked returns a Client of its own that waits for so many replicas.
func (m *mirror) acked(t *testing.T, n int) *redislock.Client {
	t.Helper()
	return world.NewClient(t, m.RDB, redislock.WithReplicas(n))
}

// wantUnreplicated checks that an Obtain was refused for want of replicas.
func wantUnreplicated(t *testing.T, lock *redislock.Lock, err error) {
	t.Helper()
	if lock != nil {
		t.Fatal("a lock that the replicas do not know was returned")
	}
	check.Is(t, err, redislock.ErrNotObtained)
	check.Is(t, err, redislock.ErrNotReplicated)
	if errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Errorf("got error %v, want one that is certain", err)
	}
}

// In every mode a lock is obtained, or gets a new lease, if all replicas know of it. If one replica does not, neither
// happens, and keys that were obtained are free again.
func TestReplicas(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 2)
	keys, n := m.Keys("a", "b"), 2
	client, fewer := m.acked(t, n), m.acked(t, n-1)
	for name, kind := range map[string]redislock.Options{
		"write": {}, "fenced": {Fenced: true}, "intent": {Intent: true}, "queue": {Queue: true}, "watched": {Watchdog: true},
	} {
		for write := range n + 1 {
			set := redislock.Set{Write: keys[:write], Read: keys[write:]}
			t.Run(fmt.Sprint(name, " ", write), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				patient := kind
				patient.RetryStrategy = redislock.LinearBackoff(10 * time.Millisecond)
				lock := check.Must[*redislock.Lock](t)(client.ObtainSet(ctx, set, world.Long, &patient))
				for _, replica := range m.replicas {
					if got := check.Must[int64](t)(replica.Client(t).Exists(t.Context(), keys...).Result()); got != 2 {
						t.Errorf("a replica has %d of the keys, want 2", got)
					}
				}
				for _, change := range []func(context.Context) error{
					func(ctx context.Context) error { return lock.Refresh(ctx, 2*world.Long) }, lock.Downgrade, lock.Upgrade, lock.Release,
				} {
					check.NoError(t, change(t.Context()))
				}

				m.replicas[1].Pause()
				defer m.replicas[1].Resume()
				lock, err := client.ObtainSet(t.Context(), set, 400*time.Millisecond, &kind)
				wantUnreplicated(t, lock, err)
				m.freedSoon(t, keys...)
				check.NoError(t, check.Must[*redislock.Lock](t)(fewer.ObtainSet(ctx, set, world.Long, &patient)).Release(t.Context()))
				m.freedSoon(t, keys...)
			})
			world.CaughtUp(t, m.RDB, n)
		}
	}
}

// With the long ttl it is the clean-up, not the end of the lease, that frees the keys.
func TestReplicasTooMany(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 1)
	keys, client := m.Keys("a", "b"), m.acked(t, 2)
	lock, err := client.Obtain(t.Context(), keys, world.Long, nil)
	wantUnreplicated(t, lock, err)
	m.freedSoon(t, keys...)
	lock, err = client.Obtain(t.Context(), keys, world.Long, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2),
	})
	wantUnreplicated(t, lock, err)
	m.freedSoon(t, keys...)
	if _, err := m.acked(t, -1).Obtain(t.Context(), keys, world.Long, nil); err == nil {
		t.Error("a negative number was taken")
	}
}

// A lease that a replica does not know does not count, and what was held before still is.
func TestReplicasLease(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, *redislock.Lock) error{
		"refresh":   func(ctx context.Context, l *redislock.Lock) error { return l.Refresh(ctx, 2*world.Long) },
		"downgrade": func(ctx context.Context, l *redislock.Lock) error { return l.Downgrade(ctx) },
		"upgrade":   func(ctx context.Context, l *redislock.Lock) error { return l.Upgrade(ctx) },
		"raise":     func(ctx context.Context, l *redislock.Lock) error { return l.RaiseFence(ctx, l.Fence()+1000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t, 1)
			keys := m.Keys("a", "b")
			set := redislock.Set{Write: keys[:1], Read: keys[1:]}
			lock := check.Must[*redislock.Lock](t)(m.acked(t, 1).ObtainSet(t.Context(), set, world.Long, &redislock.Options{
				Fenced: true, RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
			}))
			deadline, number := lock.Deadline(), lock.Fence()
			m.replicas[0].Pause()
			err := change(t.Context(), lock)
			check.Is(t, err, redislock.ErrUnknownOutcome)
			check.Is(t, err, redislock.ErrNotReplicated)
			if lock.Deadline().After(deadline) || lock.Fence() != number {
				t.Errorf("got deadline %v and number %d, want %v and %d as before", lock.Deadline(), lock.Fence(), deadline, number)
			}
			m.replicas[0].Resume()
			check.NoError(t, change(t.Context(), lock))
			check.NoError(t, lock.Release(t.Context()))
			m.WantFree(t, keys...)
		})
	}
}

// A handle that Attach has made waits for the replicas of its Client.
func TestReplicasOfAttached(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 1)
	keys, client := m.Keys("a", "b"), m.acked(t, 1)
	lock := check.Must[*redislock.Lock](t)(m.Client.Obtain(t.Context(), keys, world.Long, nil))
	m.replicas[0].Pause()
	check.NoError(t, m.Client.Attach(keys, lock.Token()).Refresh(t.Context(), world.Long))
	attached := client.Attach(keys, lock.Token())
	check.Is(t, attached.Refresh(t.Context(), world.Long), redislock.ErrNotReplicated)
	m.replicas[0].Resume()
	check.Eventually(t, 10*time.Second, "the replica is back", func() bool { return attached.Refresh(t.Context(), world.Long) == nil })
	check.NoError(t, attached.Release(t.Context()))
	m.WantFree(t, keys...)
}

// Renewals that a replica does not know do not count: the lock is lost when the last lease that the replica knows is over,
// or kept if the replica is back by then.
func TestReplicasWatchdog(t *testing.T) {
	t.Parallel()
	// A renewal that does not count may take three seconds: a server that does not know the script is asked again, and the
	// replicas are waited for a second each time.
	const ttl = 12 * time.Second
	for _, back := range []bool{false, true} {
		for _, kind := range world.LockKinds {
			t.Run(fmt.Sprintf("%s back %t", kind.Name, back), func(t *testing.T) {
				t.Parallel()
				j := new(world.Journal)
				m := newMirror(t, 1, redislock.WithHooks(j.Hooks()), redislock.WithReplicas(1))
				h := kind.Hold(t, m.Client, m.Key("k"), ttl, true)
				m.replicas[0].Pause()
				first := h.Lock.Deadline()
				check.Eventually(t, 30*time.Second, "a renewal does not count", func() bool {
					return errors.Is(j.Err("refreshed"), redislock.ErrNotReplicated)
				})
				if back {
					m.replicas[0].Resume()
					h.Renewed(t, ttl)
				} else {
					h.WantLost(t)
					if h.Lock.Deadline().After(first.Add(ttl / 4)) {
						t.Errorf("got deadline %v, want it no later than %v", h.Lock.Deadline(), first)
					}
				}
				check.NoError(t, h.Release(t)) // the primary has it all the time
				m.WantFree(t, h.Keys...)
			})
		}
	}
}

// A waiter that is granted a lock has it when the replicas know of it.
func TestReplicasQueue(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 1)
	client := m.acked(t, 1)
	for _, kind := range world.LockKinds {
		t.Run(kind.Name, func(t *testing.T) {
			keys := []string{m.Key(kind.Name + "a"), m.Key(kind.Name + "b")}
			obtain := func(ctx context.Context, turns chan<- world.Turn) {
				lock, err := client.ObtainSet(ctx, redislock.Set{Write: keys[:kind.Write], Read: keys[kind.Write:]}, world.Long, &redislock.Options{
					Queue: true, Fenced: kind.Fenced,
				})
				turns <- world.Turn{Who: "waiter", Lock: lock, Err: err}
			}
			holder := check.Must[*redislock.Lock](t)(m.Client.Obtain(t.Context(), keys, world.Long, &redislock.Options{Fenced: kind.Fenced}))
			turns, leaves := make(chan world.Turn, 1), make(chan world.Turn, 1)
			go obtain(t.Context(), turns)
			m.InLine(t, keys[0], 1)
			m.forget(t)
			m.replicas[0].Pause()
			check.NoError(t, holder.Release(t.Context()))
			check.Eventually(t, 10*time.Second, "the replica was waited for in vain, and again", func() bool { return m.asked(t) >= 2 })
			world.WantNobody(t, turns)
			if states := check.Must[[]redislock.KeyState](t)(m.Client.Inspect(t.Context(), keys)); len(states[0].Holders) != 1 {
				t.Errorf("got states %v, want the waiter to keep the keys", states)
			}
			m.replicas[0].Resume()
			first := world.WantTurn(t, turns, "waiter")[0]

			// A waiter that leaves gives back what it was granted.
			m.replicas[0].Pause()
			defer m.replicas[0].Resume()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			check.NoError(t, first.Release(t.Context()))
			go obtain(ctx, leaves)
			check.Eventually(t, 10*time.Second, "the replica is waited for", func() bool { return m.waiting(t) })
			cancel()
			got := <-leaves
			if got.Lock != nil || !errors.Is(got.Err, context.Canceled) {
				t.Errorf("got lock %v and error %v, want canceled", got.Lock, got.Err)
			}
			m.freedSoon(t, keys...)
		})
		world.CaughtUp(t, m.RDB, 1)
	}
}

// waiting answers whether somebody waits for the replicas.
func (m *mirror) waiting(t *testing.T) bool {
	t.Helper()
	return world.Info(t, m.RDB, "Clients", "blocked_clients") > 0
}

// asked counts how often the replicas were waited for. Redis 7.0 counts when the wait begins, later
// servers when it is over.
func (m *mirror) asked(t *testing.T) int {
	t.Helper()
	return world.Calls(t, m.RDB)["wait"]
}

// While an Obtain asks again it keeps the keys, and it has the lock when the replica is back.
func TestReplicasRetry(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 1)
	keys, client := m.Keys("a", "b"), m.acked(t, 1)
	opt := &redislock.Options{Fenced: true, RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond)}
	check.NoError(t, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, world.Long, opt)).Release(t.Context()))
	m.forget(t)
	m.replicas[0].Pause()
	turns := make(chan world.Turn, 1)
	go func() {
		lock, err := client.Obtain(t.Context(), keys, world.Long, opt)
		turns <- world.Turn{Who: "it", Lock: lock, Err: err}
	}()
	check.Eventually(t, 10*time.Second, "it asks again", func() bool { return m.asked(t) >= 2 })
	_, err := m.Client.Obtain(t.Context(), keys, world.Long, nil)
	_ = world.WantConflict(t, err, keys[0], redislock.ModeWrite)
	m.replicas[0].Resume()
	lock := world.WantTurn(t, turns, "it")[0]
	if got := check.Must[int64](t)(m.replicas[0].Client(t).Exists(t.Context(), keys...).Result()); got != 2 {
		t.Errorf("the replica has %d of the keys, want 2", got)
	}
	check.NoError(t, lock.Release(t.Context()))
	m.WantFree(t, keys...)
}

// A user that may not wait for replicas gets that error at once, and has no lock.
func TestReplicasForbidden(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "replicas:")
	g.Set(t, "-wait")
	client := world.NewClient(t, g.RDB, redislock.WithReplicas(1))
	keys := []string{"replicas:a", "replicas:b"}
	for name, kind := range map[string]redislock.Options{"write": {}, "fenced": {Fenced: true}, "queue": {Queue: true}} {
		kind.RetryStrategy = redislock.LinearBackoff(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		lock, err := client.Obtain(ctx, keys, world.Long, &kind)
		if lock != nil || err == nil || !strings.Contains(err.Error(), "'wait'") || ctx.Err() != nil || errors.Is(err, redislock.ErrNotObtained) {
			t.Errorf("%s: got error %v, want one that names wait, at once", name, err)
		}
		check.Eventually(t, 10*time.Second, "nothing is left", func() bool { return g.Admin.Exists(ctx, keys...).Val() == 0 })
	}
	if found := g.WithoutTTL(t); len(found) > 0 {
		t.Errorf("keys without a TTL: %q", found)
	}
}

func TestReplicasNeedPipelines(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		client := world.NewClient(t, world.Bare{Scripter: w.RDB}, redislock.WithReplicas(1))
		world.WantUnsent(t, w.RDB, errors.ErrUnsupported, func() error {
			_, err := client.Obtain(t.Context(), w.Keys("a"), world.Long, nil)
			return err
		})
	})
}
