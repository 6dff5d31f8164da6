package topology_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// heldLease outlasts the time for which the primary is stopped.
const heldLease = 15 * time.Second

// A wakingPrimary is a primary that is stopped, replaced, and wakes up; with the locks that it has given before, and
// the callers that have asked it meanwhile and wait for the answer.
type wakingPrimary struct {
	server    *replicated
	rdb       redis.UniversalClient // of the callers, with open connections
	ctx       context.Context
	end       context.CancelFunc
	wg        sync.WaitGroup
	stopped   time.Time
	successor *redistest.Server
	others    map[string]*redislock.Lock // at the successor, of the keys that are asked for

	before
	meanwhile
}

// before is what was held before the primary was stopped.
type before struct {
	alone, safe, watched *redislock.Lock // all but the first of Clients that wait for both replicas
	lease                time.Time       // the end of that of safe
	held                 context.Context // of watched
}

// meanwhile is what was asked of the primary while it was stopped.
type meanwhile struct {
	late, never, insists <-chan answer // Obtains; the last two of Clients that wait for both replicas
	refreshed, vain      <-chan answer // Refreshes of alone and safe
}

// client returns a Client of its own over the connections of the callers, so that nothing that others have asked for
// holds it up. It waits for so many replicas.
func (h *wakingPrimary) client(t *testing.T, replicas int) *redislock.Client {
	t.Helper()
	return world.NewClient(t, h.rdb, redislock.WithReplicas(replicas))
}

// newWakingPrimary opens connections: a primary that wakes up may read too late what is asked over new ones.
func newWakingPrimary(t *testing.T, r *replicated) *wakingPrimary {
	t.Helper()
	h := &wakingPrimary{server: r, rdb: r.direct()}
	h.ctx, h.end = context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(h.end)
	node, _ := h.rdb.(*redis.Client)
	if cluster, ok := h.rdb.(*redis.ClusterClient); ok {
		node = check.Must[*redis.Client](t)(cluster.MasterForKey(t.Context(), r.tag))
	}
	var conns []*redis.Conn
	for range 16 {
		conns = append(conns, node.Conn())
		check.NoError(t, conns[len(conns)-1].Ping(t.Context()).Err())
	}
	for _, conn := range conns {
		check.NoError(t, conn.Close())
	}
	check.NoError(t, check.Must[*redislock.Lock](t)(h.client(t, 0).Obtain(t.Context(), []string{r.tag}, world.Long, nil)).Release(t.Context()))
	return h
}

// An answer is what a caller has got.
type answer struct {
	lock *redislock.Lock
	err  error
}

// obtains has somebody ask for a key, who waits for so many replicas.
func (h *wakingPrimary) obtains(t *testing.T, name string, replicas int, opt redislock.Options) <-chan answer {
	t.Helper()
	client, got := h.client(t, replicas), make(chan answer, 1)
	opt.Fenced = true
	h.wg.Go(func() {
		lock, err := client.Obtain(h.ctx, []string{h.server.tag + name}, world.Long, &opt)
		got <- answer{lock, err}
	})
	return got
}

// refreshes has somebody ask for a new lease.
func (h *wakingPrimary) refreshes(lock *redislock.Lock) <-chan answer {
	got := make(chan answer, 1)
	h.wg.Go(func() { got <- answer{lock, lock.Refresh(h.ctx, world.Long)} })
	return got
}

// A primary that was stopped, and replaced meanwhile, wakes up and answers those who have asked it.
// If nobody waits for replicas two hold the same key, as far as they know; their numbers show which one is to be refused.
// If all replicas are waited for nobody gets a lock that the new primary does not know.
func TestZombie(t *testing.T) {
	t.Parallel()
	for _, sleeps := range []time.Duration{500 * time.Millisecond, 4 * time.Second} {
		t.Run(fmt.Sprint(sleeps), func(t *testing.T) {
			everyReplicated(t, 2, func(t *testing.T, r *replicated) { wakesUp(t, r, sleeps) })
		})
	}
}

func wakesUp(t *testing.T, r *replicated, sleeps time.Duration) {
	t.Helper()
	h := newWakingPrimary(t, r)
	h.hold(t)
	r.former.Pause()
	h.ask(t)
	h.replace(t)
	time.Sleep(sleeps) // this decides which of the other replicas have found the new primary
	r.former.Resume()

	late := <-h.late
	h.unsafe(t, late, <-h.refreshed)
	h.wantRefused(t, "never", <-h.never)
	h.wantVain(t, (<-h.vain).err)
	if h.isCluster() {
		check.Eventually(t, 30*time.Second, "the watched lock is lost, or renewed at the new primary", func() bool {
			return world.IsDone(h.held) || h.known(t, h.watched)
		})
	} else {
		check.Eventually(t, 60*time.Second, "the watched lock is lost", func() bool { return world.IsDone(h.held) })
		check.Is(t, context.Cause(h.held), redislock.ErrLockLost)
		if h.watched.Deadline().After(h.stopped.Add(heldLease)) {
			t.Error("a renewal counted that only the old primary knows of")
		}
	}

	r.demoted(t)
	h.end()
	h.wantRefused(t, "insists", <-h.insists)
	h.wg.Wait()
	h.settle(t, late)
}

// hold takes locks, of which every replica knows.
func (h *wakingPrimary) hold(t *testing.T) {
	t.Helper()
	obtain := func(name string, replicas int, opt redislock.Options) *redislock.Lock {
		opt.Fenced = true
		return check.Must[*redislock.Lock](t)(h.client(t, replicas).Obtain(t.Context(), []string{h.server.tag + name}, heldLease, &opt))
	}
	h.alone = obtain("alone", 0, redislock.Options{})
	h.safe = obtain("safe", 2, redislock.Options{})
	h.watched = obtain("watched", 2, redislock.Options{Watchdog: true})
	h.lease, h.held = h.safe.Deadline(), h.watched.Context(t.Context())
	world.CaughtUp(t, h.server.former.Client(t), 2)
}

// ask has requests sent to the primary, which stands still.
func (h *wakingPrimary) ask(t *testing.T) {
	t.Helper()
	h.stopped = time.Now()
	h.late = h.obtains(t, "late", 0, redislock.Options{})
	h.never = h.obtains(t, "never", 2, redislock.Options{})
	h.insists = h.obtains(t, "insists", 2, redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	h.refreshed, h.vain = h.refreshes(h.alone), h.refreshes(h.safe)
}

// replace waits for the new primary, where others take the keys that were asked for.
func (h *wakingPrimary) replace(t *testing.T) {
	t.Helper()
	h.successor = h.server.await()
	client := h.server.client(t)
	h.others = make(map[string]*redislock.Lock)
	for _, name := range []string{"late", "never", "insists"} {
		h.others[name] = check.Must[*redislock.Lock](t)(client.Obtain(h.ctx, []string{h.server.tag + name}, 2*world.Long, &redislock.Options{
			Fenced: true, RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond),
		}))
	}
}

// unsafe is what the documentation warns of, and what is left to rely on then.
func (h *wakingPrimary) unsafe(t *testing.T, late, refreshed answer) {
	t.Helper()
	woken := time.Since(h.stopped)
	t.Logf("woken after %v: obtain: %v, refresh: %v", woken, late.err, refreshed.err)
	if !h.isCluster() { // where it may learn from other nodes first that it was replaced
		check.NoError(t, late.err)
		if woken < heldLease-2*time.Second {
			check.NoError(t, refreshed.err)
		}
	}
	if late.err != nil {
		return
	}
	other := h.others["late"]
	if at := time.Now(); at.After(late.lock.Deadline()) || at.After(other.Deadline()) {
		t.Error("the windows of the locks do not overlap, want both to seem held")
	}
	var guard fencing.Guard
	check.NoError(t, guard.Admit("it", max(late.lock.Fence(), other.Fence())))
	check.Is(t, guard.Admit("it", min(late.lock.Fence(), other.Fence())), fencing.ErrStale)
}

// wantVain checks that a Refresh failed that only the old primary knows of.
func (h *wakingPrimary) wantVain(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil && !h.known(t, h.safe):
		t.Error("a lease was confirmed that the new primary does not know")
	case err == nil:
	case !errors.Is(err, redislock.ErrUnknownOutcome) && !errors.Is(err, redislock.ErrLockNotHeld):
		t.Errorf("got error %v from Refresh", err)
	case h.safe.Deadline().After(h.lease):
		t.Errorf("got deadline %v after a Refresh that failed, want at most %v", h.safe.Deadline(), h.lease)
	}
}

// known reports whether the new primary knows of a lease that was asked for after the old one stopped.
func (h *wakingPrimary) known(t *testing.T, lock *redislock.Lock) bool {
	t.Helper()
	left := h.successor.Client(t).PTTL(t.Context(), lock.Keys()[0]).Val()
	return time.Now().Add(left).After(h.stopped.Add(heldLease + 50*time.Millisecond))
}

func (h *wakingPrimary) isCluster() bool { _, is := h.rdb.(*redis.ClusterClient); return is }

// settle checks that nothing of this has harmed the locks of the others, and that the numbers grow.
func (h *wakingPrimary) settle(t *testing.T, late answer) {
	t.Helper()
	newest := h.others["late"].Fence()
	if late.err == nil {
		newest = max(newest, late.lock.Fence())
		if err := late.lock.Release(t.Context()); err == nil {
			t.Error("a lock was released that the new primary does not know")
		}
	}
	for name, lock := range h.others {
		if left := check.Must[time.Duration](t)(lock.TTL(t.Context())); left < world.Long/2 {
			t.Errorf("got %v left of the lock %q of %v", left, name, 2*world.Long)
		}
		check.NoError(t, lock.Release(t.Context()))
	}
	next := check.Must[*redislock.Lock](t)(h.server.client(t).Obtain(t.Context(), h.others["late"].Keys(), world.Long, world.Fenced()))
	if next.Fence() <= newest {
		t.Errorf("got number %d after %d, want a greater one", next.Fence(), newest)
	}
	check.NoError(t, next.Release(t.Context()))
}

// wantRefused checks that nobody was given a lock.
func (h *wakingPrimary) wantRefused(t *testing.T, name string, got answer) {
	t.Helper()
	t.Logf("%s: %v", name, got.err)
	if got.lock != nil {
		t.Errorf("%q was obtained from a primary that was replaced: fence %d", name, got.lock.Fence())
		return
	}
	if errors.Is(got.err, redislock.ErrNotObtained) || errors.Is(got.err, redislock.ErrUnknownOutcome) {
		return
	}
	if got.err == nil || !strings.Contains(got.err.Error(), "READONLY") { // which the old primary says as a replica
		t.Errorf("got error %v for %q", got.err, name)
	}
}
