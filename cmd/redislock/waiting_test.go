package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func init() {
	fixtures["tree"] = func(t *testing.T, addr string) {
		t.Helper()
		w := newWaiting(t, redis.NewClient(&redis.Options{Addr: addr}), "")
		w.hold(instance(3), "orders:17")
		w.hold(instance(4), "stock:9")
		w.queue(instance(4), "orders:17")
		w.queue(instance(5), "orders:17")
		w.queueRead(instance(6), "stock:9")
	}
	fixtures["tree-deadlock"] = func(t *testing.T, addr string) {
		t.Helper()
		w := newWaiting(t, redis.NewClient(&redis.Options{Addr: addr}), "")
		w.deadlock(request(31), request(40))
		w.queue(instance(5), "stock:9")
	}
	fixtures["tree-possible"] = func(t *testing.T, addr string) {
		t.Helper()
		w := newWaiting(t, redis.NewClient(&redis.Options{Addr: addr}), "")
		w.deadlock(instance(3), instance(4))
		w.hold(instance(5), "page:9")
		w.queue(instance(5), "page:9")
	}
}

// who is by what somebody can be known.
type who struct{ metadata, caller string }

// instance is a process with what redislock.InstanceMetadata says there.
func instance(n int) who {
	return who{metadata: fmt.Sprintf("host=web-%d pid=%d prog=shop since=2026-03-01T09:26:5%dZ", n, 810+n, n)}
}

// request is a caller with an id in a process.
func request(n int) who { return who{instance(n / 10).metadata, fmt.Sprintf("request-%d", n)} }

// A waiting is callers who hold keys and wait for others, until the test ends.
type waiting struct {
	t      *testing.T
	ctx    context.Context
	cancel context.CancelFunc
	client *redislock.Client
	prefix string
	locks  []*redislock.Lock
}

const longTTL = 10 * time.Minute

func newWaiting(t *testing.T, rdb redis.UniversalClient, prefix string) *waiting {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiting{t: t, ctx: ctx, cancel: cancel, prefix: prefix}
	if prefix == "" {
		w.client = redislock.New(rdb)
	} else {
		w.client = redislock.New(rdb, redislock.WithKeyPrefix(prefix))
	}
	t.Cleanup(func() {
		cancel()
		for _, lock := range w.locks {
			_ = lock.Release(context.Background())
		}
		w.client.Close()
		_ = rdb.Close()
	})
	return w
}

// sharedWaiting is on the server that all tests share, with keys of its own.
func sharedWaiting(t *testing.T) (w *waiting, tree func(args ...string) (stdout string, status int)) {
	t.Helper()
	backend := redistest.Shared(t, redistest.Redis)
	w = newWaiting(t, redis.NewClient(&redis.Options{Addr: backend.Addr()}), t.Name()+rand.Text()[:6]+":")
	return w, func(args ...string) (string, int) {
		t.Helper()
		stdout, stderr, status := runTool(t, append([]string{"tree", "--redis", "redis://" + backend.Addr(), "--prefix", w.prefix}, args...)...)
		if stderr != "" {
			t.Errorf("stderr is %q", stderr)
		}
		return stdout, status
	}
}

func (w *waiting) of(who who) context.Context {
	if who.caller == "" {
		return w.ctx
	}
	return redislock.WithCaller(w.ctx, who.caller)
}

func (w *waiting) hold(who who, keys ...string) *redislock.Lock {
	w.t.Helper()
	lock := check.Must[*redislock.Lock](w.t)(w.client.Obtain(w.of(who), keys, longTTL, &redislock.Options{Metadata: who.metadata}))
	w.locks = append(w.locks, lock)
	return lock
}

func (w *waiting) holdRead(who who, keys ...string) *redislock.Lock {
	w.t.Helper()
	lock := check.Must[*redislock.Lock](w.t)(w.client.ObtainRead(w.of(who), keys, longTTL, &redislock.Options{Metadata: who.metadata}))
	w.locks = append(w.locks, lock)
	return lock
}

// queue has somebody stand in line, and returns when it does.
func (w *waiting) queue(who who, keys ...string) { w.wait(who, w.client.Obtain, keys) }

func (w *waiting) queueRead(who who, keys ...string) { w.wait(who, w.client.ObtainRead, keys) }

type obtain = func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error)

func (w *waiting) wait(who who, obtain obtain, keys []string) {
	w.t.Helper()
	before := w.inLine(keys)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lock, err := obtain(world.Apart(w.of(who)), keys, longTTL, &redislock.Options{Metadata: who.metadata, Queue: true})
		if err == nil {
			_ = lock.Release(context.Background())
		} else if !errors.Is(err, context.Canceled) {
			w.t.Errorf("%v waits: %v", who, err)
		}
	}()
	w.t.Cleanup(func() {
		w.cancel()
		<-ended
	})
	check.Eventually(w.t, 20*time.Second, "it stands in line", func() bool { return w.inLine(keys) == before+len(keys) })
}

func (w *waiting) inLine(keys []string) int {
	n := 0
	for _, state := range check.Must[[]redislock.KeyState](w.t)(w.client.Inspect(context.Background(), keys)) {
		n += len(state.Line)
	}
	return n
}

// deadlock is two who wait for each other.
func (w *waiting) deadlock(a, b who) {
	w.hold(a, "orders:17")
	w.hold(b, "stock:9")
	w.queue(a, "stock:9")
	w.queue(b, "orders:17")
}
