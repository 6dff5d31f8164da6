package hammer_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A hammer: many callers at once, and nobody but the holder is ever inside, and no set is ever held in part.
func TestExclusion(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		const keys, workers, rounds = 6, 16, 40
		var inside [keys]atomic.Int32 // writers count 1000, readers 1
		var wg sync.WaitGroup
		for worker := range workers {
			wg.Go(func() {
				for round := range rounds {
					var write, read []string
					var mine []int
					for i := range 3 {
						k := (worker*7 + round*3 + i*i*5) % keys
						if (worker+i)%3 == 0 {
							write = append(write, w.Key(fmt.Sprint(k)))
						} else {
							read = append(read, w.Key(fmt.Sprint(k)))
						}
						mine = append(mine, k)
					}
					lock, err := w.Client.ObtainSet(t.Context(), redislock.Set{Write: write, Read: read}, world.Long, &redislock.Options{
						RetryStrategy: redislock.ExponentialBackoff(time.Millisecond, 20*time.Millisecond),
						Intent:        worker%2 == 0,
					})
					if err != nil {
						t.Errorf("unexpected error: %v", err)
						return
					}
					weights := make(map[int]int32)
					for i, k := range mine {
						if (worker+i)%3 == 0 {
							weights[k] = 1000
						} else if weights[k] == 0 {
							weights[k] = 1
						}
					}
					for k, weight := range weights {
						if now := inside[k].Add(weight); now >= 1000 && now != 1000 {
							t.Errorf("key %d: a writer is not alone: %d", k, now)
						}
					}
					for k, weight := range weights {
						inside[k].Add(-weight)
					}
					if err := lock.Release(context.WithoutCancel(t.Context())); err != nil {
						t.Errorf("unexpected error: %v", err)
					}
				}
			})
		}
		wg.Wait()
		for k := range keys {
			w.WantFree(t, w.Key(fmt.Sprint(k)), "redislock:intent:{"+w.Key(fmt.Sprint(k))+"}")
		}
	})
}
