package quorum_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// A lock that a majority of the servers was told to break is lost, with the reason if the Clients of the nodes listen.
func TestBroken(t *testing.T) {
	t.Parallel()
	w, r := &world{}, &eventLog{}
	for range 3 {
		server := redistest.Start(t, redistest.Redis)
		w.rdbs = append(w.rdbs, server.Client(t))
		node := redislock.New(server.Client(t), redislock.WithBreakNotices())
		closeAtEnd(t, node.Close)
		w.nodes = append(w.nodes, node)
	}
	w.client = w.newClient(t, quorum.WithHooks(r.hooks()))
	err := w.client.With(bounded(t), []string{"k"}, long, nil, func(ctx context.Context) error {
		wantNodes(t, quorum.FromContext(ctx), 3)
		const why = "the report of the day before hangs"
		for _, rdb := range w.rdbs[:2] { // what nobody hears is not told again
			check.Eventually(t, time.Minute, "the node hears", func() bool {
				return rdb.PubSubNumSub(t.Context(), "redislock:break").Val()["redislock:break"] > 0
			})
			_ = must[[]redislock.Holder](t)(redislock.New(rdb).Break(bounded(t), []string{"k"}, why))
		}
		<-ctx.Done()
		cause := context.Cause(ctx)
		wantIs(t, cause, redislock.ErrLockLost, redislock.ErrBroken)
		if !strings.Contains(cause.Error(), why) {
			t.Errorf("got cause %v, want one that has the reason", cause)
		}
		return nil
	})
	wantIs(t, err, redislock.ErrLockLost, redislock.ErrBroken)
	_, events := r.take()
	for _, e := range events {
		if e.Held > 0 && e.Duration == 0 {
			wantIs(t, e.Err, redislock.ErrBroken)
		}
	}
	w.wantHolders(t, "k", 0)
}
