package hammer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A context that ends at a random moment of an Obtain leaves nothing locked.
func TestObtainCancelledAtRandom(t *testing.T) {
	t.Parallel()
	for _, batched := range []bool{true, false} {
		t.Run(fmt.Sprintf("free, batched %t", batched), func(t *testing.T) {
			t.Parallel()
			client, rdb := world.Batched(t, batched)
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 100 {
						cancelAtRandom(t, client, fmt.Sprintf("%s:%d:%d", t.Name(), g, i))
					}
				})
			}
			wg.Wait()
			check.Eventually(t, 5*time.Second, "nothing is locked", func() bool {
				keys := check.Must[[]string](t)(rdb.Keys(t.Context(), "*"+t.Name()+":*").Result())
				return len(check.WithoutGuards(t.Context(), rdb, keys...)) == 0
			})
		})
		t.Run(fmt.Sprintf("held, batched %t", batched), func(t *testing.T) {
			t.Parallel()
			client, rdb := world.Batched(t, batched)
			lock := check.Must[*redislock.Lock](t)(redislock.Obtain(t.Context(), rdb, []string{t.Name()}, world.Long, nil))
			for range 200 {
				cancelAtRandom(t, client, t.Name())
			}
			check.NoError(t, lock.Release(t.Context()))
			check.Eventually(t, 5*time.Second, "nothing is locked", func() bool {
				keys := check.Must[[]string](t)(rdb.Keys(t.Context(), "*"+t.Name()+"*").Result())
				return len(check.WithoutGuards(t.Context(), rdb, keys...)) == 0
			})
		})
	}
}

func cancelAtRandom(t *testing.T, client *redislock.Client, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(600))*time.Microsecond)
	defer cancel()
	lock, err := client.Obtain(ctx, []string{key}, world.Long, &redislock.Options{
		Intent: rand.IntN(2) == 0, RetryStrategy: redislock.LinearBackoff(100 * time.Microsecond),
	})
	switch {
	case err == nil:
		world.ReleaseAnyway(ctx, t, lock)
	case !errors.Is(err, context.DeadlineExceeded):
		t.Errorf("got error %v, want a time-out", err)
	}
}
