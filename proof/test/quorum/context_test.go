package quorum_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/quorum"
)

type word struct{}

func TestFromContext(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		if quorum.FromContext(t.Context()) != nil {
			t.Error("there is a lock without any")
		}
		root := must[*redislock.Lock](t)(w.nodes[0].Obtain(t.Context(), []string{"alone"}, long, nil))
		ctx := root.Context(context.WithValue(t.Context(), word{}, "said"))
		err := w.client.With(ctx, []string{"k", "l"}, long, &redislock.Options{Fenced: true}, func(ctx context.Context) error {
			outer := quorum.FromContext(ctx)
			if outer.Fence() == 0 || len(outer.Keys()) != 2 || outer.Deadline().IsZero() {
				t.Errorf("got %v, number %d until %v", outer.Keys(), outer.Fence(), outer.Deadline())
			}
			if got := redislock.FromContext(ctx); got != root {
				t.Errorf("the root package finds %p of %v, want %p, the lock around it", got, got.Keys(), root)
			}
			if ctx.Value(word{}) != "said" {
				t.Error("the context has lost its values")
			}
			inner := must[*quorum.Lock](t)(w.client.Obtain(ctx, []string{"m"}, long, nil))
			if quorum.FromContext(ctx) != outer || quorum.FromContext(inner.Context(ctx)) != inner {
				t.Error("the innermost lock is another one")
			}
			noError(t, inner.Release(ctx))
			if quorum.FromContext(inner.Context(ctx)) != inner {
				t.Error("a lock that was released is not found")
			}
			return nil
		})
		noError(t, err)
		noError(t, root.Release(t.Context()))
	})
}

// The root package does not find what a node has of a lock.
func TestFromContextOfNodes(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		err := w.client.With(t.Context(), []string{"k"}, brisk, nil, func(ctx context.Context) error {
			for _, ctx := range []context.Context{ctx, quorum.FromContext(ctx).Context(t.Context())} {
				if got := redislock.FromContext(ctx); got != nil {
					t.Errorf("the root package finds a lock of %v", got.Keys())
				}
			}
			return nil
		})
		noError(t, err)
	})
}

// Values of the context reach the nodes when they are asked, released, and asked again.
func TestValuesReachNodes(t *testing.T) {
	t.Parallel()
	said := make(chan any, 100)
	tell := func(ctx context.Context, _ redislock.Event) { said <- ctx.Value(word{}) }
	w := newWorld(t, 1)
	node := redislock.New(w.rdbs[0], redislock.WithHooks(redislock.Hooks{Obtained: tell, Refused: tell, Released: tell}))
	closeAtEnd(t, node.Close)
	client := must[*quorum.Client](t)(quorum.New([]*redislock.Client{node}, quorum.WithNodeTimeout(long)))
	closeAtEnd(t, client.Close)

	ctx := context.WithValue(bounded(t), word{}, "said")
	_, err := w.client.Obtain(ctx, []string{"k"}, long, nil) // in the way
	noError(t, err)
	_, err = client.Obtain(ctx, []string{"k"}, long, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(1), 1),
	})
	wantOnly(t, err, redislock.ErrNotObtained)
	lock := must[*quorum.Lock](t)(client.Obtain(ctx, []string{"l"}, long, nil))
	noError(t, lock.Release(ctx))
	for range 4 {
		if got := <-said; got != "said" {
			t.Errorf("a node is told %v", got)
		}
	}
}

// The owner id is at every node, also at one that was won back, whoever has done that.
func TestOwnerAtEveryNode(t *testing.T) {
	for name, owner := range map[string]string{"of a request": "req-7", "none": ""} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, w *world) {
				ctx := t.Context()
				if owner != "" {
					ctx = redislock.WithOwner(ctx, owner)
				}
				lock := must[*quorum.Lock](t)(w.client.Obtain(ctx, []string{"k"}, brisk, &redislock.Options{Watchdog: true}))
				wantOwner := func(when string) {
					t.Helper()
					wantNodes(t, lock, 3)
					for i, node := range w.nodes {
						states := must[[]redislock.KeyState](t)(node.Inspect(t.Context(), []string{"k"}))
						if holders := states[0].Holders; len(holders) != 1 || holders[0].Owner != owner {
							t.Errorf("%s: node %d has %v, want the owner %q", when, i, holders, owner)
						}
					}
				}
				wantOwner("obtained")
				w.steal(t, 2)
				wantNodes(t, lock, 2)
				wantOwner("won back by the watchdog")
				w.steal(t, 2)
				wantNodes(t, lock, 2)
				noError(t, lock.Refresh(redislock.WithOwner(t.Context(), "other"), brisk))
				wantOwner("won back by a Refresh of somebody else")
				noError(t, lock.Release(t.Context()))
			})
		})
	}
}

// Code that does not care takes either Client.
func TestObtainer(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		for name, locks := range map[string]redislock.Obtainer{
			"quorum": redislock.ObtainerOf(w.client), "one server": redislock.ObtainerOf(w.nodes[0]),
		} {
			lock := must[redislock.Held](t)(locks.ObtainMixed(t.Context(), []string{"k"}, []string{"l"}, long, nil))
			if got := must[time.Duration](t)(lock.TTL(t.Context())); got <= 0 || got > long {
				t.Errorf("%s: got ttl %v", name, got)
			}
			if _, ok := lock.(redislock.HeldFenced); !ok {
				t.Errorf("%s: a %T has no fencing number", name, lock)
			}
			refused, err := locks.Obtain(t.Context(), []string{"l"}, long, nil)
			if wantIs(t, err, redislock.ErrNotObtained); refused != nil {
				t.Errorf("%s: got a lock and an error", name)
			}
			noError(t, lock.Refresh(t.Context(), long))
			noError(t, lock.Release(t.Context()))
			check.Eventually(t, soon, "it is free", func() bool { return w.holders(t, "k") == 0 })
		}
	})
}

// The function of a With may release or leave its lock. That is no loss, and told once.
func TestFunctionReleases(t *testing.T) {
	for name, end := range map[string]func(context.Context, *quorum.Lock) error{
		"release": func(ctx context.Context, lock *quorum.Lock) error { return lock.Release(ctx) },
		"leave":   func(ctx context.Context, lock *quorum.Lock) error { return lock.Leave(ctx, long) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, w *world) {
				r := &eventLog{}
				client := w.newClient(t, quorum.WithHooks(r.hooks()))
				noError(t, client.With(t.Context(), []string{"k"}, long, &redislock.Options{Name: "stock"}, func(ctx context.Context) error {
					return end(ctx, quorum.FromContext(ctx))
				}))
				r.wantEvents(t, "obtained released", redislock.ModeWrite, "k")
			})
		})
	}
}

// If the hook panics of an Obtain that has its lock, nobody gets the lock: it is given back, whatever HoldAtLeast says.
func TestObtainedPanics(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		client := w.newClient(t, quorum.WithHooks(redislock.Hooks{Obtained: func(context.Context, redislock.Event) { panic("own") }}))
		func() {
			defer func() { _ = recover() }()
			_, _ = client.Obtain(t.Context(), []string{"k"}, long, &redislock.Options{Watchdog: true, HoldAtLeast: long})
			t.Error("it did not panic")
		}()
		noError(t, must[*quorum.Lock](t)(w.client.Obtain(t.Context(), []string{"k"}, long, nil)).Release(t.Context()))
	})
}
