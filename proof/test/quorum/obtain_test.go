package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

func TestNew(t *testing.T) {
	t.Parallel()
	one := redislock.New(redistest.StartMini(t).Client(t))
	for name, nodes := range map[string][]*redislock.Client{
		"there are no nodes":             nil,
		"nodes[1] is nil":                {one, nil},
		"nodes[1] is nodes[0] once more": {one, one},
	} {
		if _, err := quorum.New(nodes); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want %q", err, name)
		}
	}
}

// Of N nodes a majority is needed: any one node less, and it is refused.
func TestMajority(t *testing.T) {
	t.Parallel()
	for n, need := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, n)
			lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
			wantNodes(t, lock, n)
			if got := w.holders(t, "k"); got != n {
				t.Errorf("got %d holders, want %d", got, n)
			}
			noError(t, lock.Release(bounded(t)))
			w.wantHolders(t, "k", 0)

			for taken := range n + 1 {
				at := make([]int, taken)
				for i := range at {
					at[i] = i
				}
				key := fmt.Sprint("taken", taken)
				w.block(t, key, long, at...)
				lock, err := w.client.Obtain(bounded(t), []string{key, "free"}, long, nil)
				if n-taken >= need {
					noError(t, err)
					wantNodes(t, lock, n-taken)
					noError(t, lock.Release(bounded(t)))
				} else {
					wantOnly(t, err, redislock.ErrNotObtained)
					if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || conflict.Key != key || conflict.Metadata != "other" {
						t.Errorf("got %v, want a conflict on %q", err, key)
					}
				}
				w.wantHolders(t, key, taken)
				w.wantHolders(t, "free", 0)
			}
		})
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	both := func(write, read []string) func(context.Context) (*quorum.Lock, error) {
		return func(ctx context.Context) (*quorum.Lock, error) {
			return w.client.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, long, nil)
		}
	}
	modes := map[string]func(context.Context) (*quorum.Lock, error){
		"write": func(ctx context.Context) (*quorum.Lock, error) {
			return w.client.Obtain(ctx, []string{"k", "l"}, long, nil)
		},
		"read": func(ctx context.Context) (*quorum.Lock, error) {
			return w.client.ObtainRead(ctx, []string{"k", "l"}, long, nil)
		},
		"write k": both([]string{"k"}, []string{"l"}),
		"write l": both([]string{"l"}, []string{"k"}),
	}
	together := []string{"read, read"}
	for first, obtain := range modes {
		for second, other := range modes {
			lock := must[*quorum.Lock](t)(obtain(bounded(t)))
			wantNodes(t, lock, 3)
			got, err := other(bounded(t))
			if slices.Contains(together, first+", "+second) {
				noError(t, err)
				noError(t, got.Release(bounded(t)))
			} else {
				wantOnly(t, err, redislock.ErrNotObtained)
			}
			noError(t, lock.Release(bounded(t)))
			w.settled(t) // a node may yet grant what the others have released
			w.wantHolders(t, "k", 0)
			w.wantHolders(t, "l", 0)
		}
	}

	lock := must[*quorum.Lock](t)(w.client.ObtainSet(bounded(t), redislock.Set{Write: []string{"a", "b", "a"}, Read: []string{"c", "b"}}, long,
		&redislock.Options{Metadata: "who=me"}))
	defer lock.Release(bounded(t))
	if diff := cmp.Diff([]string{"a", "b", "c"}, lock.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if got := lock.Metadata(); got != "who=me" {
		t.Errorf("got metadata %q", got)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	var nodes []*redislock.Client
	for range 3 {
		rdb := redistest.StartMini(t).Client(t)
		rdb.AddHook(check.Around{Before: func(redis.Cmder) { sent.Add(1) }})
		nodes = append(nodes, redislock.New(rdb, redislock.WithMaxKeys(2)))
	}
	client := must[*quorum.Client](t)(quorum.New(nodes, quorum.WithNodeTimeout(long)))
	for _, test := range []struct {
		name  string
		token string
		keys  []string
		ttl   time.Duration
		opt   redislock.Options
		is    error
	}{
		{name: "no keys", ttl: long, is: &redislock.InvalidError{Argument: "keys"}},
		{name: "empty key", keys: []string{"k", ""}, ttl: long, is: &redislock.InvalidError{Argument: "keys"}},
		{name: "too many keys", keys: []string{"1", "2", "3"}, ttl: long, is: &redislock.InvalidError{Argument: "keys"}},
		{name: "no ttl", keys: []string{"k"}, is: &redislock.InvalidError{Argument: "ttl"}},
		{name: "more than a year", keys: []string{"k"}, ttl: 366 * 24 * time.Hour, is: &redislock.InvalidError{Argument: "ttl"}},
		{name: "token", token: "a|b", keys: []string{"k"}, ttl: long, is: &redislock.InvalidError{Argument: "token"}},
		{name: "metadata", keys: []string{"k"}, ttl: long, opt: redislock.Options{Metadata: strings.Repeat("x", 5000)}, is: &redislock.InvalidError{Argument: "metadata"}},
		{name: "Queue", keys: []string{"k"}, ttl: long, opt: redislock.Options{Queue: true}, is: errors.ErrUnsupported},
		{name: "Intent", keys: []string{"k"}, ttl: long, opt: redislock.Options{Intent: true}, is: errors.ErrUnsupported},
	} {
		test.opt.RetryStrategy = redislock.LinearBackoff(time.Millisecond) // nothing to wait for
		_, err := as(client, test.token).Obtain(bounded(t), test.keys, test.ttl, &test.opt)
		if !errors.Is(err, test.is) || errors.Is(err, redislock.ErrNotObtained) || strings.Contains(err.Error(), "nodes[") {
			t.Errorf("%s: got error %v, want %v, once", test.name, err, test.is)
		}
	}
	_, err := client.As("").Obtain(bounded(t), []string{"k"}, long, nil)
	wantOnly(t, err, &redislock.InvalidError{Argument: "token"})
	wantOnly(t, client.As("").With(bounded(t), []string{"k"}, long, nil, nil), &redislock.InvalidError{Argument: "token"})
	if n := sent.Load(); n != 0 {
		t.Errorf("%d commands were sent", n)
	}
	lock := must[*quorum.Lock](t)(client.Obtain(bounded(t), []string{"k"}, long, nil))
	wantNodes(t, lock, 3)
	before := sent.Load()
	for _, ttl := range []time.Duration{-1, 0, 366 * 24 * time.Hour} {
		wantOnly(t, lock.Refresh(bounded(t), ttl), &redislock.InvalidError{Argument: "ttl"})
	}
	if n := sent.Load() - before; n != 0 {
		t.Errorf("%d commands were sent", n)
	}
	noError(t, lock.Refresh(bounded(t), time.Hour))
	noError(t, lock.Release(bounded(t)))
	client.Close()
	for _, node := range nodes {
		node.Close()
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	opt := &redislock.Options{Metadata: "m"}
	lock := must[*quorum.Lock](t)(w.client.As(t.Name()).Obtain(bounded(t), []string{"k"}, long, opt))
	w.wantHolders(t, "k", 3)
	for _, rdb := range w.rdbs {
		if got := must[string](t)(rdb.Get(t.Context(), "k").Result()); got != t.Name()+"|m" {
			t.Errorf("got value %q", got)
		}
	}
	again := must[*quorum.Lock](t)(w.client.As(t.Name()).Obtain(bounded(t), []string{"k", "l"}, long, opt))
	wantNodes(t, again, 3)
	noError(t, again.Release(bounded(t)))
	w.wantHolders(t, "k", 0)
	wantOnly(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)

	lock = must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
	w.wantHolders(t, "k", 3)
	seen := make(map[string]bool)
	for _, rdb := range w.rdbs {
		seen[must[string](t)(rdb.Get(t.Context(), "k").Result())] = true
	}
	if len(seen) != 3 {
		t.Errorf("got %d tokens at three nodes, want one for each", len(seen))
	}
	noError(t, lock.Release(bounded(t)))
}

func TestClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{Watchdog: true}))
	w.client.Close()
	w.client.Close()
	_, err := w.client.Obtain(bounded(t), []string{"l"}, long, nil)
	if !errors.Is(err, redis.ErrClosed) {
		t.Errorf("got error %v, want %v", err, redis.ErrClosed)
	}
	if lock.Nodes() < 2 || lock.Context(t.Context()).Err() != nil {
		t.Error("the lock is lost")
	}
	noError(t, lock.Refresh(bounded(t), long))
	noError(t, lock.Release(bounded(t)))
	w.wantHolders(t, "k", 0)
}
