package contract

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
)

const (
	long  = time.Minute     // a ttl that does not end within a case, unless it sleeps for so long
	short = 3 * time.Second // a ttl that does
)

// errOwn is an error of a function that runs under a lock.
var errOwn = errors.New("own")

var watched = &redislock.Options{Watchdog: true}

// A rig is the Rig of a maker, and what the cases do with it.
type rig struct {
	Rig
	maker  Maker
	keys   []string            // of a lock: all but the last are written
	others []*redislock.Client // of somebody else, one for each server
	story  story
}

// obtain takes the keys: a, b for writing, and c for reading.
func (r *rig) obtain(t *testing.T, ttl time.Duration, opt *redislock.Options) held.Lock {
	t.Helper()
	lock := check.Must[held.Lock](t)(r.try(t.Context(), ttl, opt))
	synctest.Wait() // every server has granted it
	return lock
}

func (r *rig) try(ctx context.Context, ttl time.Duration, opt *redislock.Options) (held.Lock, error) {
	return r.Locks.ObtainSet(ctx, r.set(), ttl, opt)
}

// set is what a lock takes.
func (r *rig) set() redislock.Set {
	n := len(r.keys) - 1
	return redislock.Set{Write: r.keys[:n], Read: r.keys[n:]}
}

// with runs fn under the same keys.
func (r *rig) with(t *testing.T, ttl time.Duration, opt *redislock.Options, fn func(ctx context.Context) error) error {
	t.Helper()
	return r.Locks.WithSet(t.Context(), r.set(), ttl, opt, func(ctx context.Context) error {
		synctest.Wait() // every server has granted it
		return fn(ctx)
	})
}

// found returns the lock under which a function runs.
func (r *rig) found(t *testing.T, ctx context.Context) held.Lock { //nolint:revive // t comes first in a test
	t.Helper()
	lock := r.maker.find(ctx)
	if lock == nil {
		t.Fatal("the function does not find its lock")
	}
	return lock
}

// block has somebody else hold a key on all servers. It returns a function that releases it.
func (r *rig) block(t *testing.T, key string) (release func()) {
	t.Helper()
	synctest.Wait() // what was released is free on every server
	var locks []*redislock.Lock
	for _, client := range r.others {
		locks = append(locks, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, time.Hour, &redislock.Options{Metadata: "other"})))
	}
	return func() {
		for _, lock := range locks {
			if err := lock.Release(context.Background()); err != nil {
				t.Errorf("somebody else: %v", err)
			}
		}
	}
}

// delete has a key vanish from all servers.
func (r *rig) delete(t *testing.T, key string) {
	t.Helper()
	for _, server := range r.Servers {
		check.NoError(t, server.Del(context.Background(), key).Err())
	}
}

// overwrite has something else stand under a key on all servers.
func (r *rig) overwrite(t *testing.T, key string) {
	t.Helper()
	for _, server := range r.Servers {
		check.NoError(t, server.Set(context.Background(), key, "another", time.Hour).Err())
	}
}

// holders returns who holds a key on each server.
func (r *rig) holders(t *testing.T, key string) (all []redislock.Holder) {
	t.Helper()
	synctest.Wait() // what goes on in the background has ended
	for _, client := range r.others {
		state := check.Must[[]redislock.KeyState](t)(client.Inspect(context.Background(), []string{key}))[0]
		if state.Intent != nil || len(state.Line) > 0 {
			t.Errorf("somebody waits still: %v", state)
		}
		switch len(state.Holders) {
		case 0:
			all = append(all, redislock.Holder{})
		case 1:
			all = append(all, state.Holders[0])
		default:
			t.Fatalf("several hold a key: %v", state)
		}
	}
	return all
}

// wantFree checks that no key is taken on any server; all keys, if none is named.
func (r *rig) wantFree(t *testing.T, keys ...string) {
	t.Helper()
	if keys == nil {
		keys = r.keys
	}
	for _, key := range keys {
		for _, holder := range r.holders(t, key) {
			if holder.TTL != 0 {
				t.Errorf("%q is taken, want it free: %+v", key, holder)
			}
		}
	}
}

// wantHeld checks that all keys are held on every server.
func (r *rig) wantHeld(t *testing.T) {
	t.Helper()
	for _, key := range r.keys {
		for _, holder := range r.holders(t, key) {
			if holder.TTL == 0 || holder.Left {
				t.Errorf("%q is not held: %+v", key, holder)
			}
		}
	}
}

// wantLeft checks that nobody has the keys, and that nobody can have them before this time is over.
func (r *rig) wantLeft(t *testing.T, ttl time.Duration) {
	t.Helper()
	for _, key := range r.keys {
		for _, holder := range r.holders(t, key) {
			if !holder.Left || !about(holder.TTL, ttl) {
				t.Errorf("%q is not left for %v: %+v", key, ttl, holder)
			}
		}
	}
	_, err := r.try(t.Context(), long, nil)
	check.Is(t, err, redislock.ErrNotObtained)
	if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || !conflict.Left {
		t.Errorf("got error %v, want a conflict with a key that was left", err)
	}
	r.story.forget()
}

// wantFreeAfter checks that the keys are left for all of this time, and free after it.
func (r *rig) wantFreeAfter(t *testing.T, ttl time.Duration) {
	t.Helper()
	r.wantLeft(t, ttl)
	time.Sleep(ttl - 100*time.Millisecond)
	r.wantLeft(t, 100*time.Millisecond)
	time.Sleep(101 * time.Millisecond)
	r.wantFree(t)
}

// about reports whether a time is the wanted one, apart from rounding.
func about(got, want time.Duration) bool {
	return got >= want-10*time.Millisecond && got <= want+10*time.Millisecond
}

// wantNot checks that the error is none of these.
func wantNot(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			t.Errorf("got error %v, want none that is %v", err, target)
		}
	}
}

// wantOver checks that nothing can be done with a lock that has ended.
func wantOver(t *testing.T, lock held.Lock) {
	t.Helper()
	_, err := lock.TTL(t.Context())
	check.Is(t, err, redislock.ErrLockNotHeld)
	check.Is(t, lock.Refresh(t.Context(), 2*long), redislock.ErrLockNotHeld)
	check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
}

// wantReleased checks that a context has ended, and the lock was not lost.
func wantReleased(t *testing.T, lock held.Lock, held ...context.Context) {
	t.Helper()
	for _, ctx := range append(held, lock.Context(t.Context())) {
		if cause := context.Cause(ctx); cause != context.Canceled { //nolint:errorlint // it is this value
			t.Errorf("a context has the cause %v, want %v", cause, context.Canceled)
		}
	}
	if isClosed(lock.Lost()) {
		t.Error("a release counts as a loss")
	}
}

// wantLost checks that everybody is told of the loss of a lock.
func wantLost(t *testing.T, lock held.Lock, held ...context.Context) {
	t.Helper()
	synctest.Wait()
	for _, ctx := range append(held, lock.Context(t.Context())) {
		if cause := context.Cause(ctx); !errors.Is(cause, redislock.ErrLockLost) {
			t.Errorf("a context has the cause %v, want %v", cause, redislock.ErrLockLost)
		}
	}
	if !isClosed(lock.Lost()) {
		t.Error("Lost is not closed")
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ways are the options of Obtains that wait.
func (r *rig) ways() map[string]redislock.Options {
	ways := map[string]redislock.Options{
		"poll":  {RetryStrategy: redislock.LinearBackoff(time.Second)},
		"queue": {Queue: true, Watchdog: true},
	}
	if r.maker.NoQueue.holds() {
		delete(ways, "queue")
	}
	return ways
}

// A leaver is a lock that can be left.
type leaver interface {
	Leave(ctx context.Context, ttl time.Duration) error
}
