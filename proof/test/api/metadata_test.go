package api_test

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What a Client says of its locks is said of each that says nothing itself, and of none that does.
func TestWithMetadata(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		named := world.NewClient(t, w.RDB, redislock.WithMetadata("host=web-3"))
		for want, obtain := range map[string]struct {
			client *redislock.Client
			opt    *redislock.Options
		}{
			"by host=web-3, ":                           {named, nil},
			"by job=restock, ":                          {named, &redislock.Options{Metadata: "job=restock"}},
			"by a holder that says nothing of itself, ": {w.Client, nil},
		} {
			lock := check.Must[*redislock.Lock](t)(obtain.client.Obtain(t.Context(), w.Keys("a"), world.Long, obtain.opt))
			_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil)
			check.Is(t, err, redislock.ErrNotObtained)
			if !strings.Contains(err.Error(), " is write-locked "+want) {
				t.Errorf("got error %v, want %q in it", err, want)
			}
			check.NoError(t, lock.Release(t.Context()))
		}
		long := world.NewClient(t, w.RDB, redislock.WithMetadata(strings.Repeat("x", 5000)))
		world.WantUnsent(t, w.RDB, &redislock.InvalidError{Argument: "metadata"}, func() error {
			_, err := long.Obtain(t.Context(), w.Keys("a"), world.Long, nil)
			return err
		})
	})
}
