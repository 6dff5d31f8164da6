package locktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/locktest"
)

// A program is code under test: it does some work under the lock of a key.
type program func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error

const key = "lock:order:7"

// withLock is a program that does it well.
func withLock(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
	return client.With(ctx, []string{key}, 10*time.Second, nil, work)
}

// Each bug is one that a program has, and a test that shows it: it passes with the program without the bug.
var bugs = []struct {
	name       string
	good, evil program
	test       func(tb testing.TB, p program)
}{
	{
		"does not release when the work fails", withLock,
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			lock, err := client.Obtain(ctx, []string{key}, time.Minute, nil)
			if err != nil {
				return err
			}
			if err := work(ctx); err != nil {
				return err
			}
			return lock.Release(ctx)
		},
		func(tb testing.TB, p program) {
			tb.Helper()
			client := locktest.New(tb).Client()
			_ = p(tb.Context(), client, func(context.Context) error { return errors.New("no paper") })
		},
	},

	{
		"works although somebody else has the lock", withLock,
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			lock, err := client.Obtain(ctx, []string{key}, time.Minute, nil)
			if err == nil {
				defer lock.Release(ctx)
			}
			return work(ctx)
		},
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			s.Hold(key)
			_ = p(tb.Context(), s.Client(), mustNotRun(tb))
		},
	},

	{
		"ignores the context of With", withLock,
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			return client.With(ctx, []string{key}, 10*time.Second, nil, func(context.Context) error { return work(ctx) })
		},
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			_ = p(tb.Context(), s.Client(), func(ctx context.Context) error {
				s.Break(key)
				return mustEnd(ctx, tb, time.Second)
			})
		},
	},

	{
		"goes on while the server is away", withLock,
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			lock, err := client.Obtain(ctx, []string{key}, 10*time.Second, &redislock.Options{Watchdog: true})
			if err != nil {
				return err
			}
			defer lock.Release(ctx)
			return work(ctx)
		},
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			_ = p(tb.Context(), s.Client(), func(ctx context.Context) error {
				s.Away()
				return mustEnd(ctx, tb, 10*time.Second)
			})
		},
	},

	{
		"takes an unknown outcome for a lock", withLock,
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			lock, err := client.Obtain(ctx, []string{key}, time.Minute, nil)
			if errors.Is(err, redislock.ErrUnknownOutcome) {
				return work(ctx) // most often it is ours
			}
			if err != nil {
				return err
			}
			return errors.Join(work(ctx), lock.Release(ctx))
		},
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			s.Cut(locktest.Obtain).Always()
			_ = p(tb.Context(), s.Client(), mustNotRun(tb))
		},
	},

	{
		"takes every error for somebody else's lock", skipIfBusy,
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			lock, err := client.Obtain(ctx, []string{key}, time.Minute, nil)
			if err != nil {
				return nil
			}
			return errors.Join(work(ctx), lock.Release(ctx))
		},
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			s.Refuse(locktest.Obtain, "NOPERM this user has no permissions to run the 'evalsha' command")
			if err := p(tb.Context(), s.Client(), mustNotRun(tb)); err == nil {
				tb.Error("nobody hears that the job cannot run")
			}
		},
	},

	{
		"takes a late answer to its Release for work undone",
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			return client.With(ctx, []string{key}, 10*time.Second, nil, work)
		},
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			for {
				lock, err := client.Obtain(ctx, []string{key}, time.Minute, nil)
				if err != nil {
					return err
				}
				if err := errors.Join(work(ctx), lock.Release(ctx)); err == nil {
					return nil
				}
			}
		},
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			s.Cut(locktest.Release).Times(4)
			ran := 0
			_ = p(tb.Context(), s.Client(), func(context.Context) error { ran++; return nil })
			if ran != 1 {
				tb.Errorf("it was done %d times", ran)
			}
		},
	},

	{
		"waits for itself",
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			return withLock(ctx, client, func(ctx context.Context) error {
				return client.With(ctx, []string{key + ":parts"}, 10*time.Second, &redislock.Options{Queue: true}, work)
			})
		},
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			return withLock(ctx, client, func(context.Context) error { // with the context outside of its lock
				return client.With(ctx, []string{key}, 10*time.Second, &redislock.Options{Queue: true}, work)
			})
		},
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			client := s.Client()
			ctx, cancel := context.WithCancel(tb.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = p(ctx, client, func(context.Context) error { return nil })
			}()
			time.Sleep(time.Minute)
			s.AssertFree() // it names the one who holds and the one who waits
			cancel()
			<-ended
		},
	},

	{
		"has a ttl that is shorter than the work", withLock,
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			lock, err := client.Obtain(ctx, []string{key}, 10*time.Second, nil)
			if err != nil {
				return err
			}
			defer lock.Release(ctx)
			return work(ctx)
		},
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			other := s.Client()
			_ = p(tb.Context(), s.Client(), func(context.Context) error {
				time.Sleep(15 * time.Second) // which takes no time in a bubble
				if lock, err := other.Obtain(tb.Context(), []string{key}, time.Second, nil); err == nil {
					tb.Error("somebody else has got the lock before the work was over")
					return lock.Release(tb.Context())
				}
				return nil
			})
		},
	},

	{
		"keeps readers out although it only reads",
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			lock, err := client.ObtainRead(ctx, []string{key}, time.Minute, nil)
			if err != nil {
				return err
			}
			return errors.Join(work(ctx), lock.Release(ctx))
		}, withLock,
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			s.HoldRead(key)
			if err := p(tb.Context(), s.Client(), func(context.Context) error { return nil }); err != nil {
				tb.Error(err)
			}
		},
	},

	{
		"answers nobody while the server is slow",
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			return client.With(ctx, []string{key}, 10*time.Second, &redislock.Options{Wait: time.Second}, work)
		}, withLock,
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			s.Delay(locktest.Obtain, 4*time.Second)
			began := time.Now()
			_ = p(tb.Context(), s.Client(), func(context.Context) error { return nil })
			if took := time.Since(began); took > 2*time.Second {
				tb.Errorf("a caller has waited for %v", took)
			}
		},
	},

	{
		"takes no fencing number",
		func(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
			return client.With(ctx, []string{key}, 10*time.Second, &redislock.Options{Fenced: true}, work)
		}, withLock,
		func(tb testing.TB, p program) {
			tb.Helper()
			s := locktest.New(tb)
			client := s.Client()
			var store fencing.Guard
			write := func(ctx context.Context) error { return store.Admit("order", redislock.FromContext(ctx).Fence()) }
			_ = p(tb.Context(), client, func(ctx context.Context) error {
				s.Expire(key) // as if the process were paused here for longer than its lease
				if err := p(tb.Context(), client, write); err != nil {
					tb.Errorf("the new owner cannot write: %v", err)
				}
				if err := write(ctx); !errors.Is(err, fencing.ErrStale) {
					tb.Errorf("got error %v of the former owner", err)
				}
				return nil
			})
		},
	},
}

// skipIfBusy does nothing if somebody else does it.
func skipIfBusy(ctx context.Context, client *redislock.Client, work func(context.Context) error) error {
	err := withLock(ctx, client, work)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	}
	return err
}

func mustNotRun(tb testing.TB) func(context.Context) error {
	tb.Helper()
	return func(context.Context) error {
		tb.Error("it works without the lock")
		return nil
	}
}

// mustEnd works until the context ends.
func mustEnd(ctx context.Context, tb testing.TB, within time.Duration) error {
	tb.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(within):
		tb.Error("it goes on without the lock")
	}
	return ctx.Err()
}

// Each helper shows the bug that it is for, and no other.
func TestBugs(t *testing.T) {
	t.Parallel()
	for _, bug := range bugs {
		t.Run(bug.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				if failure := record(t, func(tb testing.TB) { bug.test(tb, bug.good) }); failure != "" {
					t.Errorf("the program without the bug fails:\n%s", failure)
				}
				failure := record(t, func(tb testing.TB) { bug.test(tb, bug.evil) })
				if failure == "" {
					t.Error("the bug is not seen")
				}
				t.Log(failure)
			})
		})
	}
}
