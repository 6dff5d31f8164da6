package redislock_test

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
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// wantRenewedAt waits until a server knows of a renewal of a lease of ttl that has just come.
func (h *tenure) wantRenewedAt(t *testing.T, server *redistest.Server, ttl time.Duration) {
	t.Helper()
	rdb := server.Client(t)
	for _, key := range h.keys {
		eventually(t, 30*time.Second, "the lease is renewed at the new primary", func() bool {
			return isDone(h.ctx) || rdb.PTTL(t.Context(), key).Val() > ttl-ttl/8
		})
	}
	h.wantKept(t)
}

// With replication caught up a fail-over takes nothing away: nobody else has the keys before they are
// released.
func TestFailoverHeld(t *testing.T) {
	t.Parallel()
	for _, kills := range []bool{false, true} {
		t.Run(map[bool]string{false: "failover", true: "killed"}[kills], func(t *testing.T) {
			everyRealm(t, 1, func(t *testing.T, r *realm) {
				const ttl = 15 * time.Second
				var held, unwatched []*tenure
				for _, kind := range tenancies {
					held = append(held, kind.hold(t, r.client(t), kind.tag(r), ttl, true))
					unwatched = append(unwatched, kind.hold(t, r.client(t), kind.tag(r)+"unwatched:", long, false))
				}
				for _, h := range slices.Concat(held, unwatched) {
					h.contest(t, r.client(t))
				}
				caughtUp(t, r.former.Client(t), 1)
				var heir *redistest.Server
				if kills {
					r.former.Kill()
					heir = r.await()
				} else {
					heir = r.failOver()
				}
				for _, h := range held {
					h.wantRenewedAt(t, heir, ttl)
				}
				for _, h := range held {
					h.renewed(t, ttl)
				}
				for _, h := range slices.Concat(held, unwatched) {
					noError(t, h.lock.Refresh(t.Context(), long))
					noError(t, h.release(t))
					noError(t, h.succeeded(t).Release(t.Context()))
					for _, key := range h.keys {
						wantIs(t, heir.Client(t).Get(t.Context(), key).Err(), redis.Nil)
					}
				}
			})
		})
	}
}

// What the primary did not replicate before it was killed is lost with it: the holder is told, and
// does no harm to the next one.
func TestFailoverLost(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]struct{ first, ttl time.Duration }{
		"lock":    {0, 30 * time.Second},
		"renewal": {10 * time.Second, 40 * time.Second}, // the replicas know the first lease, which ends before it is renewed there
	} {
		t.Run(name, func(t *testing.T) {
			everyRealm(t, 1, func(t *testing.T, r *realm) { r.loses(t, lease.first, lease.ttl) })
		})
	}
}

// loses has the primary killed with locks of which its replicas do not know, or know the first lease
// only.
func (r *realm) loses(t *testing.T, first, ttl time.Duration) {
	t.Helper()
	mine, theirs := redislock.New(r.connect(), redislock.WithHooks(redislock.Hooks{Lost: wantMissing(t)})), r.client(t)
	t.Cleanup(mine.Close)
	for _, client := range []*redislock.Client{mine, theirs} { // they find their way while all is well
		noError(t, must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{r.tag}, long, nil)).Release(t.Context()))
	}
	var held []*tenure
	holdAll := func(ttl time.Duration) {
		for _, watchdog := range []bool{false, true} {
			for _, kind := range tenancies {
				held = append(held, kind.hold(t, mine, fmt.Sprint(kind.tag(r), watchdog), ttl, watchdog))
			}
		}
	}
	if first > 0 {
		holdAll(first)
		caughtUp(t, r.former.Client(t), len(r.replicas))
	}
	r.sever(t)
	if first == 0 {
		holdAll(ttl)
	}
	for _, h := range held {
		noError(t, h.lock.Refresh(t.Context(), ttl))
	}
	for _, h := range held {
		h.contest(t, theirs)
	}
	r.succeed(t)
	for i, h := range held {
		h.wantLost(t, i >= len(tenancies))
	}
}

// wantMissing returns a hook that is to be told of losses of which the server has told, not of leases
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
func (h *tenure) wantLost(t *testing.T, watchdog bool) {
	t.Helper()
	g := <-h.rival
	noError(t, g.err)
	if fence := h.lock.Fence(); fence > 0 && g.lock.Fence() <= fence {
		t.Errorf("got number %d after %d, want a greater one", g.lock.Fence(), fence)
	}
	if !watchdog {
		wantIs(t, h.lock.Refresh(t.Context(), long), redislock.ErrLockNotHeld)
	}
	h.wantTold(t)
	wantIs(t, h.release(t), redislock.ErrLockNotHeld)
	if left := must[time.Duration](t)(g.lock.TTL(t.Context())); left < long/4 {
		t.Errorf("got %v left of the next lock of %v", left, long)
	}
	noError(t, g.lock.Release(t.Context()))
}

// Many take locks while each master in turn changes places with its replica, and back, which loses
// nothing: nobody is refused for it, and no two have what only one may have.
func TestFailoverHammer(t *testing.T) {
	t.Parallel()
	s := newShards(t, 1)
	tags := s.tags(t, 2, s.Nodes()[:3]...)
	throng := newThrong(t)
	var over atomic.Bool
	throng.crowd(tags, &over, s.client(t), s.client(t))
	for _, master := range s.Nodes()[:3] {
		for range 2 {
			s.awaitFollower(t, master)
			master = s.FailOver(master)
		}
	}
	over.Store(true)
	t.Logf("%d had their locks", len(throng.served(t)))
	for _, tag := range tags {
		s.wantGone(t, tag)
	}
}

// awaitFollower waits until a master knows its replica as one: before that it does not hear that the
// replica wants to take its place.
func (s *shards) awaitFollower(t *testing.T, master *redistest.Server) {
	t.Helper()
	admin := s.admin[master]
	caughtUp(t, admin, 1)
	id := must[string](t)(admin.Do(t.Context(), "cluster", "myid").Text())
	eventually(t, 20*time.Second, "the master knows its replica", func() bool {
		return len(must[[]string](t)(admin.Do(t.Context(), "cluster", "replicas", id).StringSlice())) == 1
	})
}
