package multi_test

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
	"github.com/seed-14de3678/redislock/multi"
)

// The Clients of the parts log a loss once. What their Close has ended is not logged as a loss.
func TestLossIsLoggedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(t *testing.T, part multi.Part)
		want []string
	}{
		"a key is gone, and renewals find it": {func(t *testing.T, part multi.Part) {
			t.Helper()
			noError(t, part.Client.Attach(part.Write, t.Name()).Release(t.Context()))
			time.Sleep(time.Minute)
		}, []string{"redislock: lock lost"}},
		"a key is gone, and only the release finds it": {func(t *testing.T, part multi.Part) {
			t.Helper()
			noError(t, part.Client.Attach(part.Write, t.Name()).Release(t.Context()))
		}, []string{"redislock: lock lost"}},
		"a Client is closed": {func(_ *testing.T, part multi.Part) { part.Client.Close() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mini, log := redistest.PipeMini(t), new(check.Log)
				var parts []multi.Part
				for _, place := range []string{"one", "two", "three"} {
					client := redislock.New(mini.Client(t), redislock.WithLogger(slog.New(log)))
					t.Cleanup(client.Close)
					parts = append(parts, multi.Part{Client: client, Place: place, Set: redislock.Set{Write: []string{place}}})
				}
				err := multi.Client{}.As(t.Name()).With(t.Context(), parts, 30*time.Second, nil,
					func(context.Context) error { test.end(t, parts[1]); return nil })
				wantIs(t, err, redislock.ErrLockLost)
				synctest.Wait()
				if diff := cmp.Diff(test.want, log.At(slog.LevelWarn)); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			})
		})
	}
}
