package world

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// A LockKind is a kind of lock over two keys: how many of them it writes, and whether it is fenced.
type LockKind struct {
	Name   string
	Write  int // how many of the two keys; the rest it reads
	Fenced bool
}

// LockKinds are the kinds of locks that are held while servers and slots change places.
var LockKinds = []LockKind{{"write", 2, false}, {"read", 0, false}, {"mixed and fenced", 1, true}}

// A HeldLock is a lock that is held while servers and slots change places. A rival asks for its keys all the time.
type HeldLock struct {
	Keys  []string
	Lock  *redislock.Lock
	Ctx   context.Context
	ended chan time.Time // when the context ended
	Ends  atomic.Bool    // before anybody else may have the keys
	Rival chan Grant
}

// A Grant is the lock that a rival got, or its error.
type Grant struct {
	Lock  *redislock.Lock
	Err   error
	early bool // the lock was still held
}

// Hold takes a lock of two keys with this tag.
func (k LockKind) Hold(t *testing.T, client *redislock.Client, tag string, ttl time.Duration, watchdog bool) *HeldLock {
	t.Helper()
	h := &HeldLock{Keys: []string{tag + "a", tag + "b"}, ended: make(chan time.Time, 1), Rival: make(chan Grant, 1)}
	opt := &redislock.Options{Watchdog: watchdog, Fenced: k.Fenced}
	if client.Replicas() > 0 { // replicas may need longer than a short ttl allows
		opt.RetryStrategy = redislock.LinearBackoff(10 * time.Millisecond)
	}
	h.Lock = check.Must[*redislock.Lock](t)(client.ObtainSet(t.Context(), redislock.Set{Write: h.Keys[:k.Write], Read: h.Keys[k.Write:]}, ttl, opt))
	h.Ctx = h.Lock.Context(t.Context())
	context.AfterFunc(h.Ctx, func() { h.ended <- time.Now() })
	return h
}

// Contest starts a rival that asks for the keys all the time, and returns when it was refused for the first time.
func (h *HeldLock) Contest(t *testing.T, client *redislock.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	refused := make(chan struct{})
	strategy := func() redislock.BackOff {
		close(refused)
		return redislock.LinearBackoff(10 * time.Millisecond)()
	}
	go func() {
		lock, err := client.Obtain(ctx, h.Keys, Long, &redislock.Options{RetryStrategy: strategy, Fenced: h.Lock.Fence() > 0})
		h.Rival <- Grant{lock, err, !h.Ends.Load()}
	}()
	select {
	case <-refused:
	case <-ctx.Done():
		t.Fatal("a rival was never refused")
	}
}

// Release releases the lock; the rival may have the keys from then on.
func (h *HeldLock) Release(t *testing.T) error {
	t.Helper()
	h.Ends.Store(true)
	return h.Lock.Release(t.Context())
}

// Succeeded waits until the rival has the keys. That must not be before Release.
func (h *HeldLock) Succeeded(t *testing.T) *redislock.Lock {
	t.Helper()
	g := <-h.Rival
	check.NoError(t, g.Err)
	if g.early {
		t.Error("a rival had the keys while they were held")
	}
	if fence := h.Lock.Fence(); fence > 0 && g.Lock.Fence() <= fence {
		t.Errorf("got number %d after %d, want a greater one", g.Lock.Fence(), fence)
	}
	return g.Lock
}

// Renewed waits for a renewal of a lease of ttl that was sent after now.
func (h *HeldLock) Renewed(t *testing.T, ttl time.Duration) {
	t.Helper()
	h.RenewedSince(t, time.Now(), ttl)
}

// RenewedSince waits for a renewal that was sent after began.
func (h *HeldLock) RenewedSince(t *testing.T, began time.Time, ttl time.Duration) {
	t.Helper()
	from := began.Add(ttl - ttl/100 - 2*time.Millisecond)
	check.Eventually(t, 30*time.Second, "the lease is renewed, or lost", func() bool {
		return IsDone(h.Ctx) || h.Lock.Deadline().After(from)
	})
	h.WantKept(t)
}

// WantKept checks that the lock is not lost.
func (h *HeldLock) WantKept(t *testing.T) {
	t.Helper()
	if IsDone(h.Ctx) {
		t.Fatalf("the context of a lock that is held has ended: %v", context.Cause(h.Ctx))
	}
}

// noticeDelay is how long after the deadline a holder may learn of a loss. It should learn of it a little before, but a
// machine may have other things to do. Tests in bubbles check that it learns in time.
const noticeDelay = 10 * time.Second

// WantLost waits until the holder has learned that the lock is lost.
func (h *HeldLock) WantLost(t *testing.T) {
	t.Helper()
	var ended time.Time
	select {
	case ended = <-h.ended:
	case <-time.After(time.Until(h.Lock.Deadline()) + 30*time.Second):
		t.Fatal("a lock was lost, and its context goes on")
	}
	check.Is(t, context.Cause(h.Ctx), redislock.ErrLockLost)
	<-h.Lock.Lost()
	if late := ended.Sub(h.Lock.Deadline()); late > noticeDelay {
		t.Errorf("the context ended %v after the deadline", late)
	}
}

// IsDone reports whether a context has ended.
func IsDone(ctx context.Context) bool { return ctx.Err() != nil }
