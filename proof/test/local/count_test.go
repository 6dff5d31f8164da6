package local_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Where many callers of one Client want one key, a turn takes about one script, and with PassOn nearly none.
func TestScriptsOfTurns(t *testing.T) {
	for name, c := range map[string]struct {
		passOn time.Duration
		most   float64 // scripts a turn
	}{
		"by default":  {0, 1.1},
		"with PassOn": {50 * time.Millisecond, .1},
	} {
		for _, callers := range []int{8, 64} {
			t.Run(fmt.Sprint(name, ", ", callers), func(t *testing.T) {
				play(t, func(t *testing.T, s *scene) {
					const each = 20
					var all sync.WaitGroup
					for range callers {
						all.Go(func() {
							for range each {
								lock, err := s.Client.Obtain(t.Context(), s.keys, world.Long, passing(c.passOn))
								if err != nil {
									t.Error(err)
									return
								}
								time.Sleep(time.Millisecond)
								check.NoError(t, lock.Release(t.Context()))
							}
						})
					}
					all.Wait()
					if got := float64(s.sent.Load()) / float64(callers*each); got > c.most {
						t.Errorf("got %.2f scripts a turn, want at most %.1f", got, c.most)
					}
				})
			})
		}
	}
}

// mostHeap is how many bytes a waiter takes at most, beside its stack, if others of its Client wait before it: those of its
// Obtain, which will be those of its lock, and of its place.
const mostHeap = 1250

// A waiter that waits behind others of its Client takes little memory, and nothing in Redis. Not parallel: others would count.
func TestHeapOfWaiters(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		const many = 2000
		keys := w.Keys("k")
		holder := world.NewClient(t, w.RDB)
		each := 0
		for range 2 { // the first time it is more: what a goroutine leaves behind is there for the next
			lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), keys, world.Long, nil))
			before := check.InUse().HeapAlloc
			var all sync.WaitGroup
			for range many {
				all.Go(func() {
					lock, err := w.Client.Obtain(t.Context(), keys, world.Long, options(""))
					if err != nil {
						t.Error(err)
						return
					}
					check.NoError(t, lock.Release(t.Context()))
				})
			}
			time.Sleep(time.Second)
			synctest.Wait()
			each = (int(check.InUse().HeapAlloc) - int(before)) / many
			if n := len(check.Must[[]redislock.KeyState](t)(holder.Inspect(t.Context(), keys))[0].Line); n != 1 {
				t.Errorf("%d of them stand in Redis, want 1", n)
			}
			check.NoError(t, lock.Release(t.Context()))
			all.Wait()
		}
		t.Logf("%d bytes each", each)
		if each > mostHeap {
			t.Errorf("a waiter takes %d bytes, want at most %d", each, mostHeap)
		}
	})
}
