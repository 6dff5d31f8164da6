package outcome_test

import (
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What a release has left to another Obtain of its token is freed as soon as nobody counts on it any more.
func TestGuardSparedIsFreedLater(t *testing.T) {
	t.Run("without a prefix", func(t *testing.T) { sparedIsFreedLater(t, "") })
	t.Run("with a prefix", func(t *testing.T) {
		sparedIsFreedLater(t, "lock:", redislock.WithKeyPrefix("lock:"))
	})
}

func sparedIsFreedLater(t *testing.T, prefix string, opts ...redislock.ClientOption) {
	t.Helper()
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		client := redislock.New(rdb, opts...)
		defer client.Close()

		lock, err := client.As(t.Name()).Obtain(t.Context(), []string{"a", "b"}, time.Hour, nil)
		check.NoError(t, err)
		_, err = client.Obtain(t.Context(), []string{"c"}, 10*time.Hour, nil)
		check.NoError(t, err)
		// An Obtain that waits for c counts on b until it gives up.
		waiting, giveUp := context.WithCancel(t.Context())
		asked, given := make(chan struct{}), make(chan error, 1)
		var overtakes, asks sync.Once
		rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
			if slices.Contains(check.RunIn(cmd).Keys, prefix+"c") {
				asks.Do(func() { close(asked) })
			}
		}})
		rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			overtaken := false
			if check.RunIn(cmd).Of("release") {
				overtakes.Do(func() { overtaken = true })
			}
			if !overtaken {
				return false
			}
			go func() {
				_, err := client.As(t.Name()).Obtain(waiting, []string{"b", "c"}, time.Hour, &redislock.Options{
					RetryStrategy: redislock.LinearBackoff(time.Minute),
				})
				given <- err
			}()
			<-asked
			return check.Answer(cmd, int64(-3)) // overtaken: it has done nothing
		}})
		check.NoError(t, lock.Release(t.Context()))
		left := func() [2]int64 {
			return [2]int64{rdb.Exists(t.Context(), prefix+"a").Val(), rdb.Exists(t.Context(), prefix+"b").Val()}
		}
		if got := left(); got != [2]int64{0, 1} {
			t.Errorf("got %v, want that what the other counts on is left to it", got)
		}
		time.Sleep(10 * time.Minute)
		if got := left(); got != [2]int64{0, 1} {
			t.Errorf("got %v, want that it is left as long as it is counted on", got)
		}
		giveUp()
		check.Is(t, <-given, redislock.ErrNotObtained, context.Canceled)
		if got := left(); got != [2]int64{0, 1} {
			t.Errorf("got %v, want that whoever gives up frees nothing", got)
		}
		time.Sleep(31 * time.Second) // clean-ups follow each other at most so far apart
		if got := left(); got != [2]int64{0, 0} {
			t.Errorf("got %v, want nothing left", got)
		}
	})
}

// A clean-up that might set no guard, or that a later request has overtaken, is done again, until it is done, or the lease is over.
// The pauses between them double, up to 30 s.
func TestGuardCleanUpGoesOn(t *testing.T) {
	for name, answer := range map[string]any{"no guard": []any{int64(1), "open"}, "overtaken": int64(-3), "unanswered": io.EOF} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
				client := redislock.New(rdb)
				defer client.Close()
				began, last := time.Now(), time.Duration(0)
				var cleanUps int
				rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
					if !check.RunIn(cmd).Of("release") {
						return check.Answer(cmd, io.EOF)
					}
					last = time.Since(began)
					if cleanUps++; cleanUps > 12 {
						return check.Answer(cmd, int64(1))
					}
					return check.Answer(cmd, answer)
				}})
				_, err := client.Obtain(t.Context(), []string{"a"}, time.Hour, nil)
				check.Is(t, err, redislock.ErrUnknownOutcome)
				time.Sleep(time.Hour / 2)
				synctest.Wait()
				// 50 ms, 100 ms and so on up to 25.6 s, then 30 s twice
				if want := 1023*50*time.Millisecond + time.Minute; cleanUps != 13 || last != want {
					t.Errorf("it was cleaned up %d times, the last time after %v, want 13 times, and %v", cleanUps, last, want)
				}
			})
		})
	}
}

// After a Close a Release that is not answered is tried once more, at once.
func TestCleanUpAfterClose(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
		client := redislock.New(rdb)
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
		client.Close()
		tries := 0
		rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if tries++; tries == 1 {
				return io.EOF
			}
			return send(cmds)
		}})
		began := time.Now()
		check.Is(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
		synctest.Wait()
		w.WantFree(t, w.Key("a"))
		if took := time.Since(began); took > 0 {
			t.Errorf("it has taken %v", took)
		}
	})
}
