package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A mirror is a primary with replicas, without anybody who would promote one.
type mirror struct {
	*world
	primary  *redistest.Server
	replicas []*redistest.Server
}

func newMirror(t *testing.T, replicas int, opts ...redislock.ClientOption) *mirror {
	t.Helper()
	m := &mirror{primary: redistest.Start(t, redistest.Redis)}
	for range replicas {
		m.replicas = append(m.replicas, redistest.Start(t, redistest.Redis, "--replicaof", "127.0.0.1", fmt.Sprint(m.primary.Port())))
	}
	m.world = newWorld(t, m.primary, opts...)
	caughtUp(t, m.rdb, replicas)
	m.forget(t)
	return m
}

// forget has the server count anew.
func (m *mirror) forget(t *testing.T) {
	t.Helper()
	noError(t, m.rdb.ConfigResetStat(t.Context()).Err())
}

// freedSoon waits until none of the keys is held.
func (m *mirror) freedSoon(t *testing.T, keys ...string) {
	t.Helper()
	eventually(t, 10*time.Second, "the keys are free", func() bool {
		return must[int64](t)(m.rdb.Exists(t.Context(), keys...).Result()) == 0
	})
}

// acked asks for so many replicas, and for a lock of some kind.
func acked(n int, kind redislock.Options) *redislock.Options {
	kind.Replicas = n
	return &kind
}

// wantUnreplicated checks that an Obtain was refused for want of replicas.
func wantUnreplicated(t *testing.T, lock *redislock.Lock, err error) {
	t.Helper()
	if lock != nil {
		t.Fatal("a lock that the replicas do not know was returned")
	}
	wantIs(t, err, redislock.ErrNotObtained)
	wantIs(t, err, redislock.ErrNotReplicated)
	if errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Errorf("got error %v, want one that is certain", err)
	}
}

// In every mode a lock is obtained, and has a new lease, if all replicas know of it; if one does not it
// is neither, and the keys are free.
func TestReplicas(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 2)
	keys, n := m.keys("a", "b"), 2
	for name, kind := range map[string]redislock.Options{
		"write": {}, "fenced": {Fenced: true}, "intent": {Intent: true}, "queue": {Queue: true}, "watched": {Watchdog: true},
	} {
		for write := range n + 1 {
			t.Run(fmt.Sprint(name, " ", write), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				patient := kind
				patient.RetryStrategy = redislock.LinearBackoff(10 * time.Millisecond)
				lock := must[*redislock.Lock](t)(m.client.ObtainMixed(ctx, keys[:write], keys[write:], long, acked(n, patient)))
				for _, replica := range m.replicas {
					if got := must[int64](t)(replica.Client(t).Exists(t.Context(), keys...).Result()); got != 2 {
						t.Errorf("a replica has %d of the keys, want 2", got)
					}
				}
				for _, change := range []func(context.Context) error{
					func(ctx context.Context) error { return lock.Refresh(ctx, 2*long) }, lock.Downgrade, lock.Upgrade, lock.Release,
				} {
					noError(t, change(t.Context()))
				}

				m.replicas[1].Pause()
				defer m.replicas[1].Resume()
				lock, err := m.client.ObtainMixed(t.Context(), keys[:write], keys[write:], 400*time.Millisecond, acked(n, kind))
				wantUnreplicated(t, lock, err)
				m.freedSoon(t, keys...)
				noError(t, must[*redislock.Lock](t)(m.client.ObtainMixed(ctx, keys[:write], keys[write:], long, acked(n-1, patient))).Release(t.Context()))
				m.freedSoon(t, keys...)
			})
			caughtUp(t, m.rdb, n)
		}
	}
}

// With the long ttl it is the clean-up, not the end of the lease, that frees the keys.
func TestReplicasTooMany(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 1)
	keys := m.keys("a", "b")
	lock, err := m.client.Obtain(t.Context(), keys, long, acked(2, redislock.Options{}))
	wantUnreplicated(t, lock, err)
	m.freedSoon(t, keys...)
	lock, err = m.client.Obtain(t.Context(), keys, long, acked(2, redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2),
	}))
	wantUnreplicated(t, lock, err)
	m.freedSoon(t, keys...)
	if _, err := m.client.Obtain(t.Context(), keys, long, acked(-1, redislock.Options{})); err == nil {
		t.Error("a negative number was taken")
	}
}

// A lease that a replica does not know does not count, and what was held before still is.
func TestReplicasLease(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, *redislock.Lock) error{
		"refresh":   func(ctx context.Context, l *redislock.Lock) error { return l.Refresh(ctx, 2*long) },
		"downgrade": func(ctx context.Context, l *redislock.Lock) error { return l.Downgrade(ctx) },
		"upgrade":   func(ctx context.Context, l *redislock.Lock) error { return l.Upgrade(ctx) },
		"raise":     func(ctx context.Context, l *redislock.Lock) error { return l.RaiseFence(ctx, l.Fence()+1000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t, 1)
			keys := m.keys("a", "b")
			lock := must[*redislock.Lock](t)(m.client.ObtainMixed(t.Context(), keys[:1], keys[1:], long, acked(1, redislock.Options{
				Fenced: true, RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
			})))
			deadline, number := lock.Deadline(), lock.Fence()
			m.replicas[0].Pause()
			err := change(t.Context(), lock)
			wantIs(t, err, redislock.ErrUnknownOutcome)
			wantIs(t, err, redislock.ErrNotReplicated)
			if lock.Deadline().After(deadline) || lock.Fence() != number {
				t.Errorf("got deadline %v and number %d, want %v and %d as before", lock.Deadline(), lock.Fence(), deadline, number)
			}
			m.replicas[0].Resume()
			noError(t, change(t.Context(), lock))
			noError(t, lock.Release(t.Context()))
			m.wantFree(t, keys...)
		})
	}
}

// Renewals that a replica does not know do not count: the lock is lost when the last one that does is
// over, or kept if the replica is back by then.
func TestReplicasWatchdog(t *testing.T) {
	t.Parallel()
	for back, ttl := range map[bool]time.Duration{false: 6 * time.Second, true: 9 * time.Second} {
		for _, kind := range tenancies {
			t.Run(fmt.Sprintf("%s back %t", kind.name, back), func(t *testing.T) {
				t.Parallel()
				j := new(journal)
				m := newMirror(t, 1, redislock.WithHooks(j.hooks()))
				h := kind.holdReplicated(t, m.client, m.key("k"), ttl, true, 1)
				m.replicas[0].Pause()
				first := h.lock.Deadline()
				eventually(t, 30*time.Second, "a renewal does not count", func() bool {
					return errors.Is(j.err("refreshed"), redislock.ErrNotReplicated)
				})
				if back {
					m.replicas[0].Resume()
					h.renewed(t, ttl)
				} else {
					h.wantTold(t)
					if h.lock.Deadline().After(first.Add(ttl / 4)) {
						t.Errorf("got deadline %v, want it no later than %v", h.lock.Deadline(), first)
					}
				}
				noError(t, h.release(t)) // the primary has it all the time
				m.wantFree(t, h.keys...)
			})
		}
	}
}

// Whoever is granted a lock in line has it when the replicas know.
func TestReplicasQueue(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 1)
	for _, kind := range tenancies {
		t.Run(kind.name, func(t *testing.T) {
			keys := []string{m.key(kind.name + "a"), m.key(kind.name + "b")}
			obtain := func(ctx context.Context, turns chan<- turn) {
				lock, err := m.client.ObtainMixed(ctx, keys[:kind.write], keys[kind.write:], long, &redislock.Options{
					Queue: true, Replicas: 1, Fenced: kind.fenced,
				})
				turns <- turn{"waiter", lock, err}
			}
			holder := must[*redislock.Lock](t)(m.client.Obtain(t.Context(), keys, long, &redislock.Options{Fenced: kind.fenced}))
			turns, leaves := make(chan turn, 1), make(chan turn, 1)
			go obtain(t.Context(), turns)
			m.inLine(t, keys[0], 1)
			m.forget(t)
			m.replicas[0].Pause()
			noError(t, holder.Release(t.Context()))
			eventually(t, 10*time.Second, "the replica was waited for in vain, and again", func() bool { return m.asked(t) >= 2 })
			wantNobody(t, turns)
			if states := must[[]redislock.KeyState](t)(m.client.Inspect(t.Context(), keys...)); len(states[0].Holders) != 1 {
				t.Errorf("got states %v, want the waiter to keep the keys", states)
			}
			m.replicas[0].Resume()
			first := wantTurn(t, turns, "waiter")[0]

			// One who leaves gives back what it was granted.
			m.replicas[0].Pause()
			defer m.replicas[0].Resume()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			noError(t, first.Release(t.Context()))
			go obtain(ctx, leaves)
			eventually(t, 10*time.Second, "the replica is waited for", func() bool { return m.waiting(t) })
			cancel()
			got := <-leaves
			if got.lock != nil || !errors.Is(got.err, context.Canceled) {
				t.Errorf("got lock %v and error %v, want canceled", got.lock, got.err)
			}
			m.freedSoon(t, keys...)
		})
		caughtUp(t, m.rdb, 1)
	}
}

// waiting answers whether somebody waits for the replicas.
func (m *mirror) waiting(t *testing.T) bool {
	t.Helper()
	info := must[map[string]map[string]string](t)(m.rdb.InfoMap(t.Context(), "clients").Result())
	return info["Clients"]["blocked_clients"] != "0"
}

// asked counts how often the replicas were waited for. Redis 7.0 counts when the wait begins, later
// servers when it is over.
func (m *mirror) asked(t *testing.T) (n int) {
	t.Helper()
	for line := range strings.Lines(must[string](t)(m.rdb.Info(t.Context(), "commandstats").Result())) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_wait:calls="); ok {
			_, err := fmt.Sscanf(rest, "%d,", &n)
			noError(t, err)
		}
	}
	return n
}

// While it asks again it keeps the keys, and has them when the replica is back.
func TestReplicasRetry(t *testing.T) {
	t.Parallel()
	m := newMirror(t, 1)
	keys := m.keys("a", "b")
	opt := acked(1, redislock.Options{Fenced: true, RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond)})
	noError(t, must[*redislock.Lock](t)(m.client.Obtain(t.Context(), keys, long, opt)).Release(t.Context()))
	m.forget(t)
	m.replicas[0].Pause()
	turns := make(chan turn, 1)
	go func() {
		lock, err := m.client.Obtain(t.Context(), keys, long, opt)
		turns <- turn{"it", lock, err}
	}()
	eventually(t, 10*time.Second, "it asks again", func() bool { return m.asked(t) >= 2 })
	_, err := m.client.Obtain(t.Context(), keys, long, nil)
	_ = wantConflict(t, err, keys[0], redislock.ModeWrite)
	m.replicas[0].Resume()
	lock := wantTurn(t, turns, "it")[0]
	if got := must[int64](t)(m.replicas[0].Client(t).Exists(t.Context(), keys...).Result()); got != 2 {
		t.Errorf("the replica has %d of the keys, want 2", got)
	}
	noError(t, lock.Release(t.Context()))
	m.wantFree(t, keys...)
}

// Who may not wait for replicas is told so, at once, and has nothing.
func TestReplicasForbidden(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "replicas:")
	g.set(t, "-wait")
	client := newClient(t, g.rdb)
	keys := []string{"replicas:a", "replicas:b"}
	for name, kind := range map[string]redislock.Options{"write": {}, "fenced": {Fenced: true}, "queue": {Queue: true}} {
		kind.RetryStrategy = redislock.LinearBackoff(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		lock, err := client.Obtain(ctx, keys, long, acked(1, kind))
		if lock != nil || err == nil || !strings.Contains(err.Error(), "'wait'") || ctx.Err() != nil || errors.Is(err, redislock.ErrNotObtained) {
			t.Errorf("%s: got error %v, want one that names wait, at once", name, err)
		}
		eventually(t, 10*time.Second, "nothing is left", func() bool { return g.admin.Exists(ctx, keys...).Val() == 0 })
	}
	if found := g.immortal(t); len(found) > 0 {
		t.Errorf("keys without a TTL: %q", found)
	}
}

func TestReplicasNeedPipelines(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		client := newClient(t, bare{w.rdb})
		refusedUnsent(t, w.rdb, errors.ErrUnsupported, func() error {
			_, err := client.Obtain(t.Context(), w.keys("a"), long, acked(1, redislock.Options{}))
			return err
		})
	})
}
