package reentrant_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/reentrant"
)

// If somebody breaks a key, every hold of it is told so, with the reason.
func TestBrokenHold(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		client := redislock.New(w.rdb, redislock.WithBreakNotices())
		t.Cleanup(client.Close)
		inside := func(ctx context.Context) error {
			return reentrant.With(ctx, client, w.keys("b"), long, nil, func(ctx context.Context) error {
				check.Eventually(t, long, "notices are heard", func() bool {
					return w.rdb.PubSubNumSub(t.Context(), listen.NoticeChannel).Val()[listen.NoticeChannel] > 0
				})
				if _, err := w.client.Break(t.Context(), w.keys("b"), "stuck"); err != nil {
					t.Error(err)
				}
				<-ctx.Done()
				wantIs(t, context.Cause(ctx), redislock.ErrLockLost, redislock.ErrBroken)
				return nil
			})
		}
		err := reentrant.With(w.ctx, client, w.keys("a", "b"), long, nil, func(ctx context.Context) error {
			hold := reentrant.FromContext(ctx)
			t.Cleanup(func() { // it was released by then
				wantIs(t, context.Cause(hold.Context(context.Background())), redislock.ErrLockLost, redislock.ErrBroken)
			})
			err := inside(ctx)
			wantIs(t, err, redislock.ErrLockNotHeld, redislock.ErrBroken)
			return nil
		})
		wantIs(t, err, redislock.ErrLockNotHeld, redislock.ErrLockLost, redislock.ErrBroken)
		if !strings.Contains(err.Error(), "stuck") {
			t.Errorf("got error %q, want it to have the reason", err)
		}
		w.wantHeld(t)
	})
}
