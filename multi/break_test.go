package multi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/multi"
)

// If somebody breaks a part, the whole is told so, with the reason.
func TestBrokenPart(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		listening := redislock.New(w.rdb, redislock.WithBreakNotices())
		t.Cleanup(listening.Close)
		w.clients[1] = listening
		losses := make(chan redislock.Event, 1)
		client := multi.Client{Hooks: redislock.Hooks{Lost: func(_ context.Context, e redislock.Event) { losses <- e }}}
		err := client.With(bounded(t), w.abc(), long, nil, func(ctx context.Context) error {
			eventually(t, soon, "notices are heard", func() bool {
				return w.rdb.PubSubNumSub(bounded(t), listen.NoticeChannel).Val()[listen.NoticeChannel] > 0
			})
			if _, err := w.clients[0].Break(bounded(t), []string{w.key("b")}, "stuck"); err != nil {
				t.Error(err)
			}
			receive(t, ctx.Done())
			wantIs(t, context.Cause(ctx), redislock.ErrLockLost, redislock.ErrBroken)
			return nil
		})
		for _, err := range []error{err, receive(t, losses).Err} {
			wantIs(t, err, redislock.ErrLockLost, redislock.ErrBroken)
			if !strings.Contains(err.Error(), "stuck") || !strings.Contains(err.Error(), "part 2 of 3") {
				t.Errorf("got error %q, want it to name the part and the reason", err)
			}
		}
		w.wantFree(t, "a", "b", "c")
	})
}
