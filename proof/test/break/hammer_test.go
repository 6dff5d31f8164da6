package break_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Of those who hold keys while others break them, just those have lost them whom the breakers name. (One that stands in
// line could lose what it is granted before it knows.)
func TestBreakHammer(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		holder := world.NewClient(t, w.RDB, redislock.WithBreakNotices())
		keys := w.Keys("a", "b")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		var holders, breakers sync.WaitGroup
		var told, lost atomic.Int64
		for i := range 6 {
			holders.Go(func() {
				for ctx.Err() == nil {
					obtain, opt := holder.Obtain, &redislock.Options{
						RetryStrategy: redislock.LinearBackoff(time.Millisecond), Watchdog: i%2 == 0, Fenced: i%3 == 0,
					}
					if i == 5 {
						obtain = holder.ObtainRead
					}
					lock, err := obtain(t.Context(), keys[i%2:i%2+1], world.Long, opt)
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Duration(i) * time.Millisecond)
					switch err := lock.Release(t.Context()); {
					case errors.Is(err, redislock.ErrLockNotHeld):
						lost.Add(1)
					case err != nil:
						t.Error(err)
					}
				}
			})
		}
		for range 2 {
			breakers.Go(func() {
				for ctx.Err() == nil {
					list, err := w.Client.Break(t.Context(), keys, "")
					if err != nil {
						t.Error(err)
					}
					told.Add(int64(len(list)))
					time.Sleep(3 * time.Millisecond)
				}
			})
		}
		holders.Wait()
		breakers.Wait()
		t.Logf("%d locks were broken", lost.Load())
		if told.Load() != lost.Load() || lost.Load() == 0 {
			t.Errorf("%d have lost their locks, and breakers name %d, want as many, and some", lost.Load(), told.Load())
		}
		w.WantFree(t, keys...)
	})
}
