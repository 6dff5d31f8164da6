package redislockotel_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// unwatched ends by itself.
var unwatched = redislock.Options{Name: "n"}

func (s *scene) wantMemory(t *testing.T, holds int) {
	t.Helper()
	if got, waits := s.memory(); got != holds || waits != 0 {
		t.Errorf("got %d holds and %d waits remembered, want %d and 0", got, waits, holds)
	}
}

// A lock that nobody releases is held until its deadline. It is forgotten after a time as long, at most a minute.
func TestForgotten(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		_ = s.obtain(t, 10*time.Second, unwatched, "a")
		_ = s.obtain(t, time.Hour, unwatched, "b")
		time.Sleep(9897 * time.Millisecond)
		s.want(t, "held{write n once} 2", "obtained{write n once} 2")
		time.Sleep(2 * time.Millisecond)
		s.want(t, "held{write n once} 1", "obtained{write n once} 2")
		s.wantMemory(t, 2)
		time.Sleep(9898 * time.Millisecond)
		s.want(t, "held{write n once} 1", "obtained{write n once} 2", "expired{write n once} 1")
		s.wantMemory(t, 1)
		time.Sleep(time.Hour + time.Minute)
		s.want(t, "obtained{write n once} 2", "expired{write n once} 2")
		s.wantMemory(t, 0)
	})
}

// Forgotten locks do not add up where nobody collects metrics.
func TestForgottenUnseen(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		for range 600 {
			_ = s.obtain(t, time.Second, unwatched)
			time.Sleep(time.Second)
		}
		if got, _ := s.memory(); got > 15 {
			t.Errorf("got %d locks remembered, want at most 15", got)
		}
	})
}

// The lease ends for this side before it does for the server, which can still extend it. That is no second lock.
func TestRefreshedLate(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, 100*time.Second, unwatched)
		time.Sleep(99*time.Second + 500*time.Millisecond)
		s.want(t, "obtained{write n once} 1")
		check.NoError(t, lock.Refresh(t.Context(), 100*time.Second))
		s.want(t, "held{write n once} 1", "obtained{write n once} 1")
		time.Sleep(99*time.Second + 500*time.Millisecond)
		check.NoError(t, lock.Refresh(t.Context(), 100*time.Second)) // nobody has looked meanwhile
		s.want(t, "held{write n once} 1", "obtained{write n once} 1")
		check.NoError(t, lock.Release(t.Context()))
		s.want(t, "obtained{write n once} 1", "released{write n once} 1", "hold.duration{write n once} 1 in 3m19s")
		s.wantMemory(t, 0)
	})
}

// A Refresh puts off the end.
func TestRefreshed(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, 10*time.Second, unwatched)
		for range 10 {
			time.Sleep(8 * time.Second)
			check.NoError(t, lock.Refresh(t.Context(), 10*time.Second))
			s.want(t, "held{write n once} 1", "obtained{write n once} 1")
		}
		time.Sleep(10 * time.Second)
		s.want(t, "obtained{write n once} 1")
	})
}

// Somebody who releases what has just ended has perhaps worked too long, so that is a loss. Much later nothing is known
// of the lock any more, whether somebody has looked meanwhile or not.
func TestReleasedLate(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		for _, looks := range []bool{true, false} {
			look := func() {
				if looks {
					_ = s.lines(t)
				}
			}
			late := s.obtain(t, 10*time.Second, unwatched, "a")
			refreshed := s.obtain(t, 10*time.Second, unwatched, "b")
			far := s.obtain(t, 10*time.Second, unwatched, "c")
			time.Sleep(11 * time.Second)
			look()
			check.Is(t, late.Release(t.Context()), redislock.ErrLockNotHeld)
			check.Is(t, refreshed.Refresh(t.Context(), time.Second), redislock.ErrLockNotHeld)
			time.Sleep(11 * time.Second)
			look()
			check.Is(t, far.Release(t.Context()), redislock.ErrLockNotHeld)
			s.wantMemory(t, 0)
		}
		s.want(t, "obtained{write n once} 6", "expired{write n once} 2", "lost{expired write n once} 4",
			"hold.duration{expired write n once} 4 in 44s")
	})
}

// The end of a lease that is over for this side, but not for the server, is a release like any.
func TestReleasedJustInTime(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, 100*time.Second, unwatched)
		time.Sleep(99*time.Second + 500*time.Millisecond)
		s.want(t, "obtained{write n once} 1")
		check.NoError(t, lock.Release(t.Context()))
		s.want(t, "obtained{write n once} 1", "released{write n once} 1", "hold.duration{write n once} 1 in 1m39.5s")
	})
}
