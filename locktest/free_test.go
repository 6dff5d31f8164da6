package locktest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/locktest"
)

// What is left at the end fails the test, which says who has it.
func TestEndHeld(t *testing.T) {
	t.Parallel()
	t.Run("bubble", func(t *testing.T) { bubble(t, func(t *testing.T) { testEndHeld(t) }) })
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		testEndHeld(t, locktest.WithRedis("redis://"+redistest.Shared(t, redistest.Redis).Addr()))
	})
}

func testEndHeld(t *testing.T, opts ...locktest.Option) {
	t.Helper()
	failure := record(t, func(tb testing.TB) {
		client := locktest.New(tb, opts...).Client()
		obtain(t, client, "order:7", &redislock.Options{Metadata: "worker-2"})
		check.NoError(t, obtain(t, client, "order:8", nil).Release(t.Context()))
		check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), []string{"stock"}, 10*time.Minute, nil))
	})
	want := `locktest: not free at the end of the test:
	"order:7" is write-locked by worker-2 (9m`
	// The line is that of obtain, which has obtained it, and that of the literal above.
	for _, place := range []string{"obtained at ", ", obtained at free_test.go:"} {
		if strings.Count(failure, place) != map[bool]int{true: 2, false: 1}[place == "obtained at "] {
			t.Errorf("got failure\n%s\nwant file and line of each Obtain", failure)
		}
	}
	if !strings.HasPrefix(failure, want) || !strings.Contains(failure, "\t\"stock\" is read-locked by somebody") {
		t.Errorf("got failure\n%s\nwant one that begins\n%s", failure, want)
	}
	if strings.Contains(failure, "order:8") {
		t.Errorf("got failure\n%s\nwith a key that is free", failure)
	}
}

// A lock counts as held also if its lease ends by itself while it is looked for.
func TestEndExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failure := record(t, func(tb testing.TB) {
			client := locktest.New(tb).Client()
			check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, time.Second, nil))
		})
		if !strings.Contains(failure, `"a" is write-locked`) {
			t.Errorf("got failure %q", failure)
		}
	})
}

// Whoever stands in line, or keeps readers away, waits.
func TestAssertFreeWaiters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, opt := range map[string]*redislock.Options{
			"in line: the code to write": {Queue: true, Metadata: "the code"},
			"a writer waits: the code":   {RetryStrategy: redislock.LinearBackoff(time.Second), Intent: true, Metadata: "the code"},
		} {
			failure := record(t, func(tb testing.TB) {
				s := locktest.New(tb, locktest.WithoutCheck())
				client := s.Client()
				s.HoldRead("a")
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					if lock, err := client.Obtain(ctx, []string{"a"}, time.Minute, opt); err == nil {
						t.Error("it has the lock", lock)
					}
				}()
				synctest.Wait()
				s.AssertFree()
				cancel()
				s.AssertFree()
			})
			if !strings.Contains(failure, name) || strings.Count(failure, "\n") != 1 {
				t.Errorf("got failure\n%s\nwant one with %s", failure, name)
			}
		}
	})
}

// What Hold holds, and what was left, is not held by the code under test.
func TestAssertFree(t *testing.T) {
	each(t, func(t *testing.T, opts ...locktest.Option) {
		s := locktest.New(t, opts...)
		client := s.Client()
		s.Hold("a")
		s.HoldRead("b")
		for _, key := range []string{"a", "b"} {
			_, err := client.Obtain(t.Context(), []string{key}, time.Minute, nil)
			check.Is(t, err, redislock.ErrNotObtained)
		}
		check.NoError(t, obtain(t, client, "c", nil).Leave(t.Context(), time.Hour))
		s.AssertFree()
	})
}

// What is under way has time to end.
func TestAssertFreeWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := locktest.New(t)
		lock := obtain(t, s.Client(), "a", nil)
		f := s.Drop(locktest.Release).Always()
		check.Is(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
		time.Sleep(time.Millisecond)
		f.Stop()
		s.AssertFree()
	})
}

// At the end Clients are closed: what they watch is lost.
func TestEndCloses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var lost <-chan struct{}
		failure := record(t, func(tb testing.TB) {
			client := locktest.New(tb, locktest.WithoutCheck()).Client()
			lost = obtain(t, client, "a", &redislock.Options{Watchdog: true}).Lost()
		})
		select {
		case <-lost:
		default:
			t.Error("the Client was not closed")
		}
		if failure != "" {
			t.Error(failure)
		}
	})
}

// Somebody else who reads a key together with the code does not hide the code.
func TestAssertFreeShared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failure := record(t, func(tb testing.TB) {
			s := locktest.New(tb)
			s.HoldRead("a")
			check.Must[*redislock.Lock](t)(s.Client().ObtainRead(t.Context(), []string{"a"}, time.Minute, nil))
		})
		if !strings.Contains(failure, `"a" is read-locked by`) {
			t.Errorf("got failure %q", failure)
		}
	})
}

func TestWithoutCheck(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failure := record(t, func(tb testing.TB) {
			obtain(t, locktest.New(tb, locktest.WithoutCheck()).Client(), "a", nil)
		})
		if failure != "" {
			t.Errorf("got failure %q", failure)
		}
	})
}

// Functions that were registered after New run before the end is looked at.
func TestEndAfterCleanup(t *testing.T) {
	bubble(t, func(t *testing.T) {
		lock := obtain(t, locktest.New(t).Client(), "a", nil)
		t.Cleanup(func() { check.NoError(t, lock.Release(context.Background())) })
	})
}
