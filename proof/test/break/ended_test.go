package break_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Every operation that needs a lock says of one that somebody has broken that it is not held, that it was broken, and why.
func TestBrokenLockSaysSo(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		client := world.NewClient(t, mini.Client(t), redislock.WithBreakNotices())
		opt := &redislock.Options{Watchdog: true, Fenced: true}
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Minute, opt))
		time.Sleep(time.Second) // from now on it hears
		check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), []string{"k"}, "it hangs"))
		<-lock.Lost()
		for name, do := range map[string]func(ctx context.Context) error{
			"refresh":     func(ctx context.Context) error { return lock.Refresh(ctx, time.Minute) },
			"downgrade":   lock.Downgrade,
			"upgrade":     lock.Upgrade,
			"raise fence": func(ctx context.Context) error { return lock.RaiseFence(ctx, 100) },
		} {
			err := do(t.Context())
			check.Is(t, err, redislock.ErrLockNotHeld)
			check.Is(t, err, redislock.ErrBroken)
			want := "redislock: " + name + ` "k": lock not held: redislock: lock lost: "k" was broken: it hangs`
			if err.Error() != want {
				t.Errorf("got error %q, want %q", err, want)
			}
		}
	})
}
