package locktest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/locktest"
)

// obtain takes a key at once.
func obtain(t *testing.T, client *redislock.Client, key string, opt *redislock.Options) *redislock.Lock {
	t.Helper()
	return check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, 10*time.Minute, opt))
}

func TestClient(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		client := locktest.New(t, opts...).Client()
		lock := obtain(t, client, "a", nil)
		_, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil)
		check.Is(t, err, redislock.ErrNotObtained)
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A Client of the code's own meets what a Client of the Server meets.
func TestRedis(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := redislock.New(s.Redis(), redislock.WithKeyPrefix("lock:"))
		defer client.Close()
		held := s.Hold("lock:a")
		_, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil)
		check.Is(t, err, redislock.ErrNotObtained)
		check.NoError(t, held.Release(t.Context()))
		s.Refuse(locktest.Obtain, "NOPERM no")
		if _, err = client.Obtain(t.Context(), []string{"a"}, time.Minute, nil); err == nil || errors.Is(err, redislock.ErrNotObtained) {
			t.Fatalf("got error %v, want that of the server", err)
		}
	})
}

func TestHold(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := s.Client()
		held := s.Hold("a", "b")
		_, err := client.Obtain(t.Context(), []string{"b"}, time.Minute, nil)
		conflict, _ := errors.AsType[*redislock.ConflictError](err)
		if conflict == nil || conflict.Metadata != locktest.SomebodyElse {
			t.Fatalf("got error %v, want a conflict with %s", err, locktest.SomebodyElse)
		}
		check.NoError(t, held.Release(t.Context()))
		check.NoError(t, obtain(t, client, "b", nil).Release(t.Context()))

		s.HoldRead("b")
		reads := check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), []string{"b"}, time.Minute, nil))
		check.NoError(t, reads.Release(t.Context()))
		_, err = client.Obtain(t.Context(), []string{"b"}, time.Minute, nil)
		check.Is(t, err, redislock.ErrNotObtained)
	})
}

func TestHoldRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failure := record(t, func(tb testing.TB) {
			s := locktest.New(tb)
			lock := obtain(t, s.Client(), "a", &redislock.Options{Metadata: "the code"})
			defer lock.Release(t.Context())
			s.Hold("a")
			t.Error("Hold has returned")
		})
		if !strings.Contains(failure, `"a" is write-locked by the code`) {
			t.Errorf("got failure %q", failure)
		}
	})
}

// What Hold holds lasts for as long as the test, and needs nobody who renews it.
func TestHoldLasts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		s.Hold("a")
		time.Sleep(24 * time.Hour)
		_, err := s.Client().Obtain(t.Context(), []string{"a"}, time.Minute, nil)
		check.Is(t, err, redislock.ErrNotObtained)
	})
}

// Who stands in line behind somebody else is next.
func TestHoldInLine(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := s.Client()
		held := s.Hold("a")
		got := make(chan error, 1)
		go func() {
			got <- client.With(t.Context(), []string{"a"}, time.Minute, &redislock.Options{Queue: true},
				func(context.Context) error { return nil })
		}()
		check.Eventually(t, 10*time.Second, "it stands in line", func() bool { return inLine(t, client, "a") == 1 })
		check.NoError(t, held.Release(t.Context()))
		check.NoError(t, <-got)
	})
}

// inLine returns how many stand in line for a key.
func inLine(t *testing.T, client *redislock.Client, key string) int {
	t.Helper()
	return len(check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), []string{key}))[0].Line)
}
