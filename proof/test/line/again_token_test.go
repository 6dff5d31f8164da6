package line_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What a token obtains has only its own waiters ask: nothing has changed for the others.
func TestOthersDoNotAskWhenATokenObtains(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		keys, owner := w.Keys("k"), w.Client.As(w.Key("token"))
		locks := []*redislock.Lock{check.Must[*redislock.Lock](t)(owner.Obtain(t.Context(), keys, world.Long, nil))}
		turns := make(chan world.Turn, 2)
		for i := range 2 {
			w.Wait(t.Context(), turns, fmt.Sprint(i), keys, nil)
		}
		time.Sleep(time.Second)
		sent := check.Count(w.RDB, "eval")
		locks = append(locks, check.Must[*redislock.Lock](t)(owner.Obtain(t.Context(), keys, world.Long, nil)))
		if synctest.Wait(); sent.Load() != 1 {
			t.Errorf("%d scripts were sent, want the one that obtains the keys", sent.Load())
		}
		for _, lock := range locks {
			_ = lock.Release(t.Context()) // the first one frees the keys for both
		}
		for range 2 {
			got := <-turns
			check.NoError(t, got.Err)
			check.NoError(t, got.Lock.Release(t.Context()))
		}
	})
}
