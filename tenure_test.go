package redislock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
)

// A tenancy is a kind of lock over two keys: how many of them it writes, and whether it is fenced.
type tenancy struct {
	name   string
	write  int
	fenced bool
}

// tenancies are the kinds of locks that are held while servers and slots change places.
var tenancies = []tenancy{{"write", 2, false}, {"read", 0, false}, {"mixed and fenced", 1, true}}

// A tenure is a lock that is held while servers and slots change places, and a rival who asks for its
// keys all the time.
type tenure struct {
	keys  []string
	lock  *redislock.Lock
	ctx   context.Context
	told  chan time.Time // when the context ended
	ends  atomic.Bool    // before anybody else may have the keys
	rival chan grant
}

// A grant is what became of a rival.
type grant struct {
	lock  *redislock.Lock
	err   error
	early bool // the lock was still held
}

// hold begins a tenure of two keys with this tag.
func (k tenancy) hold(t *testing.T, client *redislock.Client, tag string, ttl time.Duration, watchdog bool) *tenure {
	t.Helper()
	return k.holdReplicated(t, client, tag, ttl, watchdog, 0)
}

// holdReplicated begins one that counts only with replicas.
func (k tenancy) holdReplicated(t *testing.T, client *redislock.Client, tag string, ttl time.Duration, watchdog bool, replicas int) *tenure {
	t.Helper()
	h := &tenure{keys: []string{tag + "a", tag + "b"}, told: make(chan time.Time, 1), rival: make(chan grant, 1)}
	opt := &redislock.Options{Watchdog: watchdog, Fenced: k.fenced, Replicas: replicas}
	if replicas > 0 { // which may need longer than a short ttl lets them
		opt.RetryStrategy = redislock.LinearBackoff(10 * time.Millisecond)
	}
	h.lock = must[*redislock.Lock](t)(client.ObtainMixed(t.Context(), h.keys[:k.write], h.keys[k.write:], ttl, opt))
	h.ctx = h.lock.Context(t.Context())
	context.AfterFunc(h.ctx, func() { h.told <- time.Now() })
	return h
}

// contest lets a rival in, and returns when it has been refused for the first time.
func (h *tenure) contest(t *testing.T, client *redislock.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	refused := make(chan struct{})
	strategy := func() backoff.BackOff {
		close(refused)
		return redislock.LinearBackoff(10 * time.Millisecond)()
	}
	go func() {
		lock, err := client.Obtain(ctx, h.keys, long, &redislock.Options{RetryStrategy: strategy, Fenced: h.lock.Fence() > 0})
		h.rival <- grant{lock, err, !h.ends.Load()}
	}()
	select {
	case <-refused:
	case <-ctx.Done():
		t.Fatal("a rival was never refused")
	}
}

// release ends the tenure.
func (h *tenure) release(t *testing.T) error {
	t.Helper()
	h.ends.Store(true)
	return h.lock.Release(t.Context())
}

// succeeded waits until the rival has the keys, which must not be before the end of the tenure.
func (h *tenure) succeeded(t *testing.T) *redislock.Lock {
	t.Helper()
	g := <-h.rival
	noError(t, g.err)
	if g.early {
		t.Error("a rival had the keys while they were held")
	}
	if fence := h.lock.Fence(); fence > 0 && g.lock.Fence() <= fence {
		t.Errorf("got number %d after %d, want a greater one", g.lock.Fence(), fence)
	}
	return g.lock
}

// renewed waits for a renewal of a lease of ttl that was sent after now.
func (h *tenure) renewed(t *testing.T, ttl time.Duration) {
	t.Helper()
	h.renewedSince(t, time.Now(), ttl)
}

// renewedSince waits for one that was sent after some time.
func (h *tenure) renewedSince(t *testing.T, began time.Time, ttl time.Duration) {
	t.Helper()
	from := began.Add(ttl - ttl/100 - 2*time.Millisecond)
	eventually(t, 30*time.Second, "the lease is renewed, or lost", func() bool {
		return isDone(h.ctx) || h.lock.Deadline().After(from)
	})
	h.wantKept(t)
}

func (h *tenure) wantKept(t *testing.T) {
	t.Helper()
	if isDone(h.ctx) {
		t.Fatalf("the context of a lock that is held has ended: %v", context.Cause(h.ctx))
	}
}

// tellsLate is how late a loss may be told: a little before the deadline, but a machine may have other
// things to do. That it is told in time is seen in bubbles.
const tellsLate = 10 * time.Second

// wantTold waits until the holder is told that the lock is lost.
func (h *tenure) wantTold(t *testing.T) {
	t.Helper()
	var told time.Time
	select {
	case told = <-h.told:
	case <-time.After(time.Until(h.lock.Deadline()) + 30*time.Second):
		t.Fatal("a lock was lost, and nobody is told")
	}
	wantIs(t, context.Cause(h.ctx), redislock.ErrLockLost)
	<-h.lock.Lost()
	if late := told.Sub(h.lock.Deadline()); late > tellsLate {
		t.Errorf("the loss was told %v after the deadline", late)
	}
}
