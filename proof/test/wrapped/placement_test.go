package wrapped_test

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A set that is not in one place is refused, before anything is sent where the client shows what it
// wraps, and whatever its wrapper makes of the keys.
func TestWrappedPlacement(t *testing.T) {
	wrappings(t, func(t *testing.T, w *wrapping) {
		client := redislock.New(w.rdb)
		t.Cleanup(client.Close)
		across := []string{"{" + t.Name() + "}a", "{" + t.Name() + ":}b"}
		// Of one slot and tag, but not behind a prefix.
		moved := []string{t.Name(), "{" + t.Name() + "}b"}
		braced := []string{t.Name() + "}b"}
		// One that does not show it is known by what it says. This comes first: an error of a wrapper may hide an
		// earlier try, so a clean-up follows it, and that is a command as well.
		hiding := redislock.New(struct{ redis.Scripter }{w.rdb}, redislock.WithWrapped(w.inner))
		t.Cleanup(hiding.Close)
		if _, one := w.inner.(*redis.Client); !one {
			world.WantUnsent(t, w.inner, redislock.ErrCrossSlot, func() error {
				_, err := hiding.Obtain(t.Context(), slices.Clone(across), world.Long, nil)
				return err
			})
		}
		switch w.inner.(type) {
		case *redis.Client:
			for _, keys := range [][]string{across, moved} {
				check.NoError(t, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, world.Long, nil)).Release(t.Context()))
			}
		case *redis.ClusterClient:
			world.WantUnsent(t, w.inner, redislock.ErrCrossSlot, func() error {
				_, err := client.Obtain(t.Context(), across, world.Long, nil)
				return err
			})
			for _, keys := range [][]string{moved, moved[:1], braced} {
				_, err := client.Obtain(t.Context(), keys, world.Long, nil)
				check.Is(t, err, redislock.ErrCrossSlot)
			}
		case *redis.Ring:
			for _, keys := range [][]string{across, moved, {moved[1], moved[0]}} {
				world.WantUnsent(t, w.inner, redislock.ErrCrossSlot, func() error {
					_, err := client.Obtain(t.Context(), keys, world.Long, nil)
					return err
				})
			}
			check.NoError(t, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), moved[:1], world.Long, nil)).Release(t.Context()))
		}
		if _, cluster := w.inner.(*redis.ClusterClient); !cluster {
			for _, obtain := range []world.ObtainFunc{client.Obtain, client.ObtainRead} {
				check.NoError(t, check.Must[*redislock.Lock](t)(obtain(t.Context(), braced, world.Long, world.Fenced())).Release(t.Context()))
			}
		}
	})
}
