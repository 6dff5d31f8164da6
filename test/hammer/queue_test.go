package hammer_test

import (
	"sync"
	"testing"

	"github.com/seed-14de3678/redislock/internal/world"
)

// Many wait in line for one key: nobody is inside with another, and nothing is left.
func TestQueueHammer(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		key := w.Key("k")
		var inside, n int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 20 {
					lock, err := w.Client.Obtain(t.Context(), []string{key}, world.Long, world.Queue())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					inside++
					n++
					if inside > 1 {
						t.Error("two inside")
					}
					mu.Unlock()
					mu.Lock()
					inside--
					mu.Unlock()
					if err := lock.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		w.OnlyGuardsSoon(t, key) // a request that was sent again leaves one
	})
}
