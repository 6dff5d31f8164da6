package locktest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/locktest"
)

// soon is much longer than it takes until a holder is told, and much shorter than until its next renewal.
const soon = 20 * time.Second

// ended waits until a context has ended, and returns its cause.
func ended(ctx context.Context, t *testing.T) error {
	t.Helper()
	if _, ok := check.Receive(ctx.Done(), soon); !ok {
		t.Fatal("the holder was not told")
	}
	return context.Cause(ctx)
}

// A holder is told at once, although it has had its lock for so short a time that it does not listen yet.
func TestBreak(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		lock := obtain(t, s.Client(), "a", nil)
		ctx := lock.Context(t.Context())
		s.Break("a")
		check.Is(t, ended(ctx, t), redislock.ErrBroken, redislock.ErrLockLost)
		check.NoError(t, s.Hold("a").Release(t.Context()))
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	})
}

func TestExpire(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := s.Client()
		write := obtain(t, client, "a", &redislock.Options{Fenced: true})
		one := check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), []string{"b"}, time.Minute, nil))
		two := check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), []string{"b"}, time.Hour, nil))
		ctx, lost := write.Context(t.Context()), two.Lost()
		s.Expire("a", "b", "free")
		if cause := ended(ctx, t); !errors.Is(cause, redislock.ErrLockLost) || errors.Is(cause, redislock.ErrBroken) {
			t.Errorf("got cause %v, want ErrLockLost alone", cause)
		}
		if _, ok := check.Receive(lost, soon); !ok {
			t.Error("a reader was not told")
		}
		if _, err := one.TTL(t.Context()); !errors.Is(err, redislock.ErrLockNotHeld) {
			t.Errorf("got error %v of a reader that does not watch", err)
		}

		// The next owner keeps what it has, and has a greater number.
		next := obtain(t, client, "a", &redislock.Options{Fenced: true})
		check.Is(t, write.Release(t.Context()), redislock.ErrLockNotHeld)
		check.Is(t, two.Release(t.Context()), redislock.ErrLockNotHeld)
		if next.Fence() <= write.Fence() {
			t.Errorf("got number %d after %d", next.Fence(), write.Fence())
		}
		check.NoError(t, next.Release(t.Context()))
		check.Is(t, one.Release(t.Context()), redislock.ErrLockNotHeld)
	})
}

// A set of which one lease has ended is lost.
func TestExpirePart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		client := s.Client()
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a", "b"}, time.Minute, nil))
		ctx := lock.Context(t.Context())
		s.Expire("b")
		check.Is(t, ended(ctx, t), redislock.ErrLockLost)
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	})
}

// Whoever stands in line is next, at once.
func TestExpireInLine(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		for name, end := range map[string]func(*locktest.Server, ...string){
			"Expire": (*locktest.Server).Expire, "Break": (*locktest.Server).Break,
		} {
			s := locktest.New(t, opts...)
			client := s.Client()
			s.Hold(name)
			began, got := time.Now(), make(chan error, 1)
			go func() {
				lock, err := client.Obtain(t.Context(), []string{name}, time.Minute, &redislock.Options{Queue: true})
				if err == nil {
					err = lock.Release(t.Context())
				}
				got <- err
			}()
			check.Eventually(t, soon, "it stands in line", func() bool { return inLine(t, client, name) == 1 })
			end(s, name)
			err, ok := check.Receive(got, soon)
			if !ok || err != nil {
				t.Errorf("%s: got %v, %t", name, err, ok)
			}
			if took := time.Since(began); took > time.Second && isVirtual() {
				t.Errorf("%s: the next one had to wait %v", name, took)
			}
		}
	})
}

// A key that was left is free when its time is over.
func TestExpireLeft(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := s.Client()
		check.NoError(t, obtain(t, client, "a", nil).Leave(t.Context(), time.Hour))
		s.Expire("a")
		check.NoError(t, obtain(t, client, "a", nil).Release(t.Context()))
	})
}

// What is no lock is neither broken nor deleted.
func TestExpireForeign(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, end := range map[string]func(*locktest.Server, ...string){
			"Expire": (*locktest.Server).Expire, "Break": (*locktest.Server).Break,
		} {
			failure := record(t, func(tb testing.TB) {
				s := locktest.New(tb)
				check.NoError(t, s.Redis().Set(t.Context(), "data", "1", 0).Err())
				defer func() {
					if s.Redis().Exists(t.Context(), "data").Val() != 1 {
						t.Errorf("%s: the data is gone", name)
					}
				}()
				end(s, "data")
			})
			if !strings.Contains(failure, `"data" is foreign: it holds a string`) {
				t.Errorf("%s: got failure %q", name, failure)
			}
		}
	})
}

// A holder that was told asks whether its keys are its own. That is no Refresh.
func TestBreakIsNoRefresh(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		client := s.Client()
		lock := obtain(t, client, "a", nil)
		ctx := lock.Context(t.Context())
		f := s.Cut(locktest.Any).Always()
		s.Break("a")
		synctest.Wait() // which is enough, although the lock is new
		f.Stop()
		if cause := context.Cause(ctx); f.Met() != 0 || !errors.Is(cause, redislock.ErrBroken) {
			t.Errorf("got cause %v, met %d", cause, f.Met())
		}
	})
}

// A holder that does not listen yet is told again. The next owner, who hears of it too, keeps its lock.
func TestBreakTellsAgain(t *testing.T) {
	t.Parallel()
	s := locktest.New(t)
	client := s.Client()
	first := obtain(t, client, "a", nil)
	s.Away()
	ctx := first.Context(t.Context())
	s.Break("a")
	s.Back()
	next := obtain(t, client, "a", nil)
	watched := next.Context(t.Context())
	check.Is(t, ended(ctx, t), redislock.ErrBroken)
	time.Sleep(2 * time.Second)
	check.NoError(t, watched.Err())
	check.NoError(t, next.Release(t.Context()))
}
