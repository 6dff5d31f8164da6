package locktest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/locktest"
)

func TestRefuse(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := s.Client()
		f := s.Refuse(locktest.Obtain, "OOM command not allowed when used memory > 'maxmemory'.")
		_, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil)
		if err == nil || !redis.HasErrorPrefix(err, "OOM") || f.Met() != 1 {
			t.Fatalf("got error %v, met %d", err, f.Met())
		}
		check.NoError(t, obtain(t, client, "a", nil).Release(t.Context()))
		if f.Met() != 1 {
			t.Error("it has happened to the next request, too")
		}
	})
}

// A Client sends again what is refused for the moment, and what was not answered. So it takes more than one.
func TestFaultsThatPass(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := s.Client()
		for _, f := range []*locktest.Fault{
			s.Refuse(locktest.Obtain, "READONLY You can't write against a read only replica."),
			s.Cut(locktest.Obtain), s.Drop(locktest.Obtain),
		} {
			defer func() {
				if f.Met() != 1 {
					t.Errorf("%v: met %d", f, f.Met())
				}
			}()
		}
		lock := obtain(t, client, "a", nil)
		s.Cut(locktest.Release)
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A Cut is executed, a Drop is not: nobody can tell which it was.
func TestCutAndDrop(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := s.Client()
		for _, c := range []struct {
			name string
			lose func(locktest.Op) *locktest.Fault
			held bool // in Redis, after a Release
		}{{"cut", s.Cut, false}, {"drop", s.Drop, true}} {
			lock := obtain(t, client, c.name, nil)
			f := c.lose(locktest.Release).Always()
			check.Is(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
			if got := s.Redis().Exists(t.Context(), c.name).Val() == 1; got != c.held {
				t.Errorf("%s: held %t", c.name, got)
			}
			f.Stop()
			if f.Met() < 4 {
				t.Errorf("%s: met %d", c.name, f.Met())
			}
		}
	})
}

// The first run of a script is answered that the server does not know it. That is not the one to be cut.
func TestCutIsExecuted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		client := s.Client()
		f := s.Cut(locktest.Obtain).Always()
		_, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		if f.Met() != 4 {
			t.Errorf("met %d, want each of the 4 tries once", f.Met())
		}
	})
}

func TestTimes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		client := s.Client()
		f := s.Refuse(locktest.Obtain, "NOPERM no").Times(2)
		for i := range 3 {
			lock, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil)
			if (err != nil) != (i < 2) {
				t.Errorf("%d: got error %v", i, err)
			}
			if err == nil {
				check.NoError(t, lock.Release(t.Context()))
			}
		}
		if f.Met() != 2 {
			t.Errorf("met %d", f.Met())
		}
	})
}

// A fault meets the operation that it aims at, also where several travel together.
func TestOps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		client := s.Client()
		refresh, release := s.Refuse(locktest.Refresh, "NOPERM no"), s.Refuse(locktest.Release, "NOPERM no")
		reads := check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), []string{"r"}, time.Minute, nil))
		if refresh.Met()+release.Met() != 0 {
			t.Error("an Obtain is taken for something else")
		}
		if err := reads.Refresh(t.Context(), time.Minute); err == nil || refresh.Met() != 1 {
			t.Errorf("got error %v of Refresh", err)
		}
		if err := reads.Release(t.Context()); err == nil || release.Met() != 1 {
			t.Errorf("got error %v of Release", err)
		}
		s.Expire("r")

		const many = 20
		f := s.Delay(locktest.Obtain, time.Second).Always()
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				key := string(rune('a' + i))
				check.NoError(t, client.With(t.Context(), []string{key}, time.Minute, nil, func(context.Context) error { return nil }))
			})
		}
		all.Wait()
		if f.Met() == 0 || f.Met() > many {
			t.Errorf("met %d", f.Met())
		}
		f.Stop()
	})
}

func TestDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		client := s.Client()
		s.Delay(locktest.Obtain, 3*time.Second)
		began := time.Now()
		lock := obtain(t, client, "a", nil)
		if took := time.Since(began); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("took %v", took)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A request that is later than the Redis client waits is executed all the same.
func TestDelayTooLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		lock := obtain(t, s.Client(), "a", nil)
		read := s.Redis().Options().ReadTimeout
		f := s.Delay(locktest.Refresh, read+time.Minute).Times(4)
		began := time.Now()
		check.Is(t, lock.Refresh(t.Context(), time.Hour), redislock.ErrUnknownOutcome)
		if took := time.Since(began); took < 4*read || took > 4*read+5*time.Second || f.Met() != 4 {
			t.Errorf("took %v, met %d", took, f.Met())
		}
		if left := s.Redis().PTTL(t.Context(), "a").Val(); left > 10*time.Minute {
			t.Errorf("it has %v left, want that of the Obtain", left)
		}
		time.Sleep(time.Minute)
		if left := s.Redis().PTTL(t.Context(), "a").Val(); left < 50*time.Minute {
			t.Errorf("it has %v left, want that of the Refresh", left)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A fault that nobody meets is a test that shows nothing.
func TestFaultThatNobodyMeets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failure := record(t, func(tb testing.TB) {
			s := locktest.New(tb)
			check.NoError(t, obtain(t, s.Client(), "a", nil).Release(t.Context()))
			s.Drop(locktest.Any).Stop()
			s.Cut(locktest.Refresh)
		})
		if want := "no request has met the fault Cut(refresh)"; !strings.Contains(failure, want) || strings.Contains(failure, "Drop") {
			t.Errorf("got failure %q", failure)
		}
	})
}

func TestAway(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := s.Client()
		lock := obtain(t, client, "a", nil)
		s.Away()
		_, err := client.Obtain(t.Context(), []string{"b"}, time.Minute, nil)
		if err == nil || errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrUnknownOutcome) {
			t.Errorf("got error %v of Obtain", err)
		}
		if err := lock.Release(t.Context()); err == nil {
			t.Error("the lock was released")
		}
		if err := s.Redis().Ping(t.Context()).Err(); err == nil {
			t.Error("it can be reached")
		}
		s.Back()
		check.NoError(t, s.Redis().Ping(t.Context()).Err())
		check.NoError(t, obtain(t, client, "b", nil).Release(t.Context()))
	})
}

// While the server is away nobody hears that it is their turn. Afterwards they do, and of a Break.
func TestAwayCutsMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		client := s.Client()
		held := s.Hold("a")
		got := make(chan *redislock.Lock, 1)
		go func() {
			got <- check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, time.Hour, &redislock.Options{Queue: true}))
		}()
		synctest.Wait()
		s.Away()
		check.NoError(t, held.Release(t.Context()))
		time.Sleep(time.Second)
		if len(got) != 0 {
			t.Fatal("it has heard that it is its turn")
		}
		s.Back()
		ctx := (<-got).Context(t.Context())
		s.Break("a")
		synctest.Wait()
		check.Is(t, context.Cause(ctx), redislock.ErrBroken)
	})
}

// A holder that cannot reach the server is told by its deadline.
func TestAwayUntilLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		client := s.Client()
		s.Away()
		s.Back()
		began := time.Now()
		err := client.With(t.Context(), []string{"a"}, 10*time.Second, nil, func(ctx context.Context) error {
			s.Away()
			_ = mustEnd(ctx, t, time.Minute)
			if took := time.Since(began); took < 9*time.Second || took > 10*time.Second {
				t.Errorf("the context of the function ended after %v", took)
			}
			return context.Cause(ctx)
		})
		check.Is(t, err, redislock.ErrLockLost)
		if took := time.Since(began); took > 15*time.Second { // the Release asks for a while
			t.Errorf("took %v", took)
		}
	})
}
