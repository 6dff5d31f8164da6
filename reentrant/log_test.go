package reentrant_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// However many holds a key has, its loss is logged once. What a Close has ended is not logged as a loss.
func TestLossIsLoggedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(mini *redistest.Mini, client *redislock.Client)
		want []string
	}{
		"renewals find it": {func(mini *redistest.Mini, _ *redislock.Client) {
			mini.Miniredis().Del("a")
			time.Sleep(time.Minute)
		}, []string{"redislock: lock lost"}},
		"only the release finds it": {func(mini *redistest.Mini, _ *redislock.Client) {
			mini.Miniredis().Del("a")
		}, []string{"redislock: lock lost"}},
		"the Client is closed": {func(_ *redistest.Mini, client *redislock.Client) { client.Close() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mini, log := redistest.PipeMini(t), new(check.Log)
				client := redislock.New(mini.Client(t), redislock.WithLogger(slog.New(log)))
				t.Cleanup(client.Close)
				keys := []string{"a"}
				err := reentrant.With(reentrant.NewOwner(t.Context()), client, keys, 30*time.Second, nil, func(ctx context.Context) error {
					return reentrant.With(ctx, client, keys, 30*time.Second, nil, func(context.Context) error {
						test.end(mini, client)
						return nil
					})
				})
				wantIs(t, err, redislock.ErrLockLost)
				synctest.Wait()
				if diff := cmp.Diff(test.want, log.At(slog.LevelWarn)); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			})
		})
	}
}
