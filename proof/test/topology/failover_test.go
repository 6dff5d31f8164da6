package topology_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// wantRenewedAt waits until a server knows of a renewal of a lease of ttl that has just come.
func wantRenewedAt(t *testing.T, h *world.HeldLock, server *redistest.Server, ttl time.Duration) {
	t.Helper()
	rdb := server.Client(t)
	for _, key := range h.Keys {
		check.Eventually(t, 30*time.Second, "the lease is renewed at the new primary", func() bool {
			return world.IsDone(h.Ctx) || rdb.PTTL(t.Context(), key).Val() > ttl-ttl/8
		})
	}
	h.WantKept(t)
}

// With replication caught up a fail-over takes nothing away: nobody else has the keys before they are
// released.
func TestFailoverHeld(t *testing.T) {
	t.Parallel()
	for _, kills := range []bool{false, true} {
		t.Run(map[bool]string{false: "failover", true: "killed"}[kills], func(t *testing.T) {
			everyReplicated(t, 1, func(t *testing.T, r *replicated) {
				const ttl = 15 * time.Second
				var held, unwatched []*world.HeldLock
				for _, kind := range world.LockKinds {
					held = append(held, kind.Hold(t, r.client(t), tagIn(kind, r), ttl, true))
					unwatched = append(unwatched, kind.Hold(t, r.client(t), tagIn(kind, r)+"unwatched:", world.Long, false))
				}
				for _, h := range slices.Concat(held, unwatched) {
					h.Contest(t, r.client(t))
				}
				world.CaughtUp(t, r.former.Client(t), 1)
				var successor *redistest.Server
				if kills {
					r.former.Kill()
					successor = r.await()
				} else {
					successor = r.failOver()
				}
				for _, h := range held {
					wantRenewedAt(t, h, successor, ttl)
				}
				for _, h := range held {
					h.Renewed(t, ttl)
				}
				for _, h := range slices.Concat(held, unwatched) {
					check.NoError(t, h.Lock.Refresh(t.Context(), world.Long))
					check.NoError(t, h.Release(t))
					check.NoError(t, h.Succeeded(t).Release(t.Context()))
					for _, key := range h.Keys {
						check.Is(t, successor.Client(t).Get(t.Context(), key).Err(), redis.Nil)
					}
				}
			})
		})
	}
}

// What the primary did not replicate before it was killed is lost with it: the holder learns of it, and
// does no harm to the next one.
func TestFailoverLost(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]struct{ first, ttl time.Duration }{
		"lock":    {0, 30 * time.Second},
		"renewal": {10 * time.Second, 40 * time.Second}, // the replicas know the first lease, which ends before it is renewed there
	} {
		t.Run(name, func(t *testing.T) {
			everyReplicated(t, 1, func(t *testing.T, r *replicated) { r.loses(t, lease.first, lease.ttl) })
		})
	}
}

// loses has the primary killed with locks of which its replicas do not know, or know the first lease
// only.
func (r *replicated) loses(t *testing.T, first, ttl time.Duration) {
	t.Helper()
	mine, theirs := redislock.New(r.connect(), redislock.WithHooks(redislock.Hooks{Lost: wantMissing(t)})), r.client(t)
	t.Cleanup(mine.Close)
	for _, client := range []*redislock.Client{mine, theirs} { // they find their way while all is well
		check.NoError(t, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{r.tag}, world.Long, nil)).Release(t.Context()))
	}
	var held []*world.HeldLock
	holdAll := func(ttl time.Duration) {
		for _, watchdog := range []bool{false, true} {
			for _, kind := range world.LockKinds {
				held = append(held, kind.Hold(t, mine, fmt.Sprint(tagIn(kind, r), watchdog), ttl, watchdog))
			}
		}
	}
	if first > 0 {
		holdAll(first)
		world.CaughtUp(t, r.former.Client(t), len(r.replicas))
	}
	r.sever(t)
	if first == 0 {
		holdAll(ttl)
	}
	for _, h := range held {
		check.NoError(t, h.Lock.Refresh(t.Context(), ttl))
	}
	for _, h := range held {
		h.Contest(t, theirs)
	}
	r.succeed(t)
	for i, h := range held {
		wantLost(t, h, i >= len(world.LockKinds))
	}
}

// wantMissing returns a hook that checks the reason of each loss: the server has said so, and it is not one of leases
// that are over.
func wantMissing(t *testing.T) func(context.Context, redislock.Event) {
	t.Helper()
	return func(_ context.Context, e redislock.Event) {
		if !errors.Is(e.Err, redislock.ErrLockNotHeld) {
			t.Errorf("a lock was lost for another reason: %v", e.Err)
		}
	}
}

// wantLost checks what becomes of a lock that the new primary does not know.
func wantLost(t *testing.T, h *world.HeldLock, watchdog bool) {
	t.Helper()
	g := <-h.Rival
	check.NoError(t, g.Err)
	if fence := h.Lock.Fence(); fence > 0 && g.Lock.Fence() <= fence {
		t.Errorf("got number %d after %d, want a greater one", g.Lock.Fence(), fence)
	}
	if !watchdog {
		check.Is(t, h.Lock.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld)
	}
	h.WantLost(t)
	check.Is(t, h.Release(t), redislock.ErrLockNotHeld)
	if left := check.Must[time.Duration](t)(g.Lock.TTL(t.Context())); left < world.Long/4 {
		t.Errorf("got %v left of the next lock of %v", left, world.Long)
	}
	check.NoError(t, g.Lock.Release(t.Context()))
}

// Many take locks while each master in turn changes places with its replica, and back, which loses
// nothing: nobody is refused for it, and no two have what only one may have.
func TestFailoverHammer(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 1)
	tags := s.Tags(t, 2, s.Nodes()[:3]...)
	waiters := world.NewWaiters(t)
	var over atomic.Bool
	visitAll(waiters, tags, &over, s.NewClient(t), s.NewClient(t))
	for _, master := range s.Nodes()[:3] {
		for range 2 {
			awaitFollower(t, s, master)
			master = s.FailOver(master)
		}
	}
	over.Store(true)
	t.Logf("%d had their locks", len(waiters.Served(t)))
	for _, tag := range tags {
		wantOnlyGuards(t, s, tag)
	}
}

// awaitFollower waits until a master knows its replica as one: before that it does not hear that the
// replica wants to take its place.
func awaitFollower(t *testing.T, s *world.Shards, master *redistest.Server) {
	t.Helper()
	admin := s.Admin[master]
	world.CaughtUp(t, admin, 1)
	id := check.Must[string](t)(admin.Do(t.Context(), "cluster", "myid").Text())
	check.Eventually(t, 20*time.Second, "the master knows its replica", func() bool {
		return len(check.Must[[]string](t)(admin.Do(t.Context(), "cluster", "replicas", id).StringSlice())) == 1
	})
}
