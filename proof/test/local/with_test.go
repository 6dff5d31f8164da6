package local_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A function that runs under With may end its lock, and so pass it on to the next Obtain of the Client. The lock is not lost then.
func TestWithPassesOn(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		opt := passing(time.Minute)
		opt.Watchdog = true
		check.NoError(t, s.obtain(s.Client, opt).Release(t.Context()))
		err := s.Client.With(t.Context(), s.keys, world.Long, opt, func(ctx context.Context) error {
			s.waits(t.Context(), s.Client, opt)
			before := s.sent.Load()
			err := redislock.FromContext(ctx).Release(ctx)
			synctest.Wait()
			if n := s.sent.Load() - before; n != 0 {
				t.Errorf("the Release took %d scripts, want that it passes the lock on without Redis", n)
			}
			return err
		})
		check.NoError(t, err)
		check.NoError(t, s.wants("").Release(t.Context()))
		s.WantNoTrace(t, s.keys...)
	})
}
