package quorum_test

import (
	"context"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

type word struct{}

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

// The caller's id is at every node, also at one that was won back, whoever has done that.
func TestCallerAtEveryNode(t *testing.T) {
	for name, caller := range map[string]string{"of a request": "req-7", "none": ""} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, w *world) {
				ctx := t.Context()
				if caller != "" {
					ctx = redislock.WithCaller(ctx, caller)
				}
				lock := must[*quorum.Lock](t)(w.client.Obtain(ctx, []string{"k"}, brisk, &redislock.Options{Watchdog: true}))
				wantCaller := func(when string) {
					t.Helper()
					wantNodes(t, lock, 3)
					for i, node := range w.nodes {
						states := must[[]redislock.KeyState](t)(node.Inspect(t.Context(), []string{"k"}))
						if holders := states[0].Holders; len(holders) != 1 || holders[0].Caller != caller {
							t.Errorf("%s: node %d has %v, want the id %q", when, i, holders, caller)
						}
					}
				}
				wantCaller("obtained")
				w.steal(t, 2)
				wantNodes(t, lock, 2)
				wantCaller("won back by the watchdog")
				w.steal(t, 2)
				wantNodes(t, lock, 2)
				noError(t, lock.Refresh(redislock.WithCaller(t.Context(), "other"), brisk))
				wantCaller("won back by a Refresh of somebody else")
				noError(t, lock.Release(t.Context()))
			})
		})
	}
}
