package redislockotel_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// watched keeps its lease alive.
var watched = redislock.Options{Watchdog: true, Name: "n"}

func polls(every time.Duration) redislock.Options {
	return redislock.Options{Name: "n", RetryStrategy: redislock.LinearBackoff(every)}
}

func TestObtainRelease(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, time.Hour, redislock.Options{Name: "n"})
		nameless := check.Must[*redislock.Lock](t)(s.client.ObtainRead(t.Context(), []string{"b"}, time.Hour, nil))
		s.want(t, "held{write n once} 1", "obtained{write n once} 1", "held{read once} 1", "obtained{read once} 1")
		time.Sleep(time.Minute)
		check.NoError(t, lock.Release(t.Context()))
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		check.NoError(t, nameless.Release(t.Context()))
		s.want(t, "obtained{write n once} 1", "released{write n once} 1", "hold.duration{write n once} 1 in 1m0s",
			"obtained{read once} 1", "released{read once} 1", "hold.duration{read once} 1 in 1m0s")
	})
}

func TestRefusedAtOnce(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		other := redislock.New(s.rdb)
		_ = check.Must[*redislock.Lock](t)(other.Obtain(t.Context(), []string{"a"}, time.Hour, nil))
		_, err := s.client.ObtainRead(t.Context(), []string{"a"}, time.Hour, nil)
		check.Is(t, err, redislock.ErrNotObtained)
		s.want(t, "refused{conflict read once} 1")
	})
}

func TestWaits(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, time.Hour, watched)
		done := make(chan error, 2)
		obtain := func(ctx context.Context, opt redislock.Options) {
			waiter, err := s.client.Obtain(ctx, []string{"a"}, time.Hour, &opt)
			if err == nil {
				err = waiter.Release(ctx)
			}
			done <- err
		}
		go obtain(t.Context(), polls(time.Second))
		over := polls(time.Second)
		over.Wait = 30 * time.Second
		go obtain(t.Context(), over)
		time.Sleep(10 * time.Second)
		s.want(t, "held{write n once} 1", "obtained{write n once} 1", "waiting{write n poll} 2")
		check.Is(t, <-done, redislock.ErrWaitOver)
		s.want(t, "held{write n once} 1", "obtained{write n once} 1", "waiting{write n poll} 1",
			"refused{wait_over write n poll} 1", "wait.duration{wait_over write n poll} 1 in 30s")
		time.Sleep(30*time.Second + time.Millisecond)
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, <-done)
		s.want(t, "obtained{write n once} 1", "released{write n once} 1", "hold.duration{write n once} 1 in 1m0.001s",
			"obtained{write n poll} 1", "released{write n poll} 1", "hold.duration{write n poll} 1 in 0s",
			"refused{wait_over write n poll} 1", "wait.duration{wait_over write n poll} 1 in 30s",
			"wait.duration{write n poll} 1 in 1m0.001s") // the release gives it the key
	})
}

// Some leave the line, and one has its turn.
func TestQueues(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, time.Hour, watched)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 3)
		for _, ctx := range []context.Context{t.Context(), ctx, ctx} {
			go func() {
				_, err := s.client.ObtainRead(ctx, []string{"a"}, time.Hour, &redislock.Options{Queue: true})
				done <- err
			}()
		}
		time.Sleep(time.Second)
		s.want(t, "held{write n once} 1", "obtained{write n once} 1", "waiting{read queue} 3")
		cancel()
		check.Is(t, <-done, context.Canceled)
		check.Is(t, <-done, context.Canceled)
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, <-done)
		s.want(t, "obtained{write n once} 1", "released{write n once} 1", "hold.duration{write n once} 1 in 1s",
			"held{read queue} 1", "obtained{read queue} 1", "wait.duration{read queue} 1 in 1s",
			"refused{canceled read queue} 2", "wait.duration{canceled read queue} 2 in 2s")
	})
}

// What a lock is converted to does not matter: it is counted out where it was counted in.
func TestConverts(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, time.Hour, watched)
		check.NoError(t, lock.Downgrade(t.Context()))
		s.want(t, "held{write n once} 1", "obtained{write n once} 1")
		time.Sleep(time.Second)
		check.NoError(t, lock.Release(t.Context()))
		s.want(t, "obtained{write n once} 1", "released{write n once} 1", "hold.duration{write n once} 1 in 1s")
	})
}

func TestReleasesInParts(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, time.Hour, watched, "a", "b", "c")
		check.NoError(t, lock.ReleaseKeys(t.Context(), []string{"a"}))
		check.NoError(t, lock.ReleaseKeys(t.Context(), []string{"c"}))
		s.want(t, "held{write n once} 1", "obtained{write n once} 1")
		time.Sleep(time.Second)
		check.NoError(t, lock.ReleaseKeys(t.Context(), []string{"b"}))
		s.want(t, "obtained{write n once} 1", "released{write n once} 1", "hold.duration{write n once} 1 in 1s")
	})
}

func TestLeaves(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		check.NoError(t, s.obtain(t, time.Hour, watched, "a").Leave(t.Context(), time.Minute))
		check.NoError(t, s.obtain(t, time.Hour, redislock.Options{Name: "n", HoldAtLeast: time.Minute}, "b").Release(t.Context()))
		_, err := s.client.Obtain(t.Context(), []string{"a"}, time.Hour, nil)
		check.Is(t, err, redislock.ErrNotObtained)
		s.want(t, "obtained{write n once} 2", "released{write n once} 2", "hold.duration{write n once} 2 in 0s", "refused{left write once} 1")
	})
}

// A loss that the watchdog finds is told before the Release, another one by it.
func TestLosses(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, 30*time.Second, watched)
		s.mini.Miniredis().Del("a")
		<-lock.Lost()
		synctest.Wait()
		s.want(t, "obtained{write n once} 1", "lost{not_held write n once} 1", "hold.duration{not_held write n once} 1 in 9.899s")
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)

		lock = s.obtain(t, time.Hour, watched)
		s.mini.Miniredis().Del("a")
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		s.want(t, "obtained{write n once} 2", "lost{not_held write n once} 2", "hold.duration{not_held write n once} 2 in 9.899s")
	})
}

func TestBroken(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		s.client = s.newClient(t, redislock.WithBreakNotices())
		lock := s.obtain(t, time.Hour, watched)
		time.Sleep(time.Second)
		_, err := s.client.Break(t.Context(), []string{"a"}, "stuck")
		check.NoError(t, err)
		<-lock.Lost()
		synctest.Wait()
		s.want(t, "obtained{write n once} 1", "lost{broken write n once} 1", "hold.duration{broken write n once} 1 in 1s")
	})
}

// The server is away until the lease is over.
func TestUnconfirmed(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, 30*time.Second, watched)
		s.mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
		<-lock.Lost()
		synctest.Wait()
		lines := s.lines(t)
		s.want(t, "obtained{write n once} 1", "lost{unconfirmed write n once} 1", "hold.duration{unconfirmed write n once} 1 in 29.598s",
			lineOf(lines, "server.errors{LOADING refresh}"))
		s.mini.Miniredis().SetError("")
	})
}

func TestClosed(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		_ = s.obtain(t, time.Hour, watched)
		s.client.Close()
		s.want(t, "obtained{write n once} 1", "lost{closed write n once} 1", "hold.duration{closed write n once} 1 in 0s")
	})
}

// Who has obtained the lock holds it, whoever else has a handle.
func TestAttached(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, time.Hour, redislock.Options{Name: "n"})
		handle := s.client.Attach([]string{"a"}, lock.Token())
		check.NoError(t, handle.Refresh(t.Context(), time.Minute))
		s.want(t, "held{write n once} 1", "obtained{write n once} 1")
		check.NoError(t, handle.Release(t.Context()))
		check.Is(t, handle.Release(t.Context()), redislock.ErrLockNotHeld)
		s.want(t, "held{write n once} 1", "obtained{write n once} 1", "released{write} 1")
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)

		lock = s.obtain(t, time.Hour, redislock.Options{Name: "n"})
		handle = s.client.Attach([]string{"a"}, lock.Token())
		check.NoError(t, handle.Refresh(t.Context(), time.Minute))
		s.mini.Miniredis().Del("a")
		check.Is(t, handle.Refresh(t.Context(), time.Minute), redislock.ErrLockNotHeld)
		s.want(t, "held{write n once} 1", "obtained{write n once} 2", "released{write} 1", "lost{not_held write} 1",
			"lost{not_held write n once} 1", "hold.duration{not_held write n once} 1 in 0s")
	})
}

// lineOf returns the line that begins so.
func lineOf(lines []string, begins string) string {
	for _, line := range lines {
		if strings.HasPrefix(line, begins) {
			return line
		}
	}
	return begins + " is missing"
}
