package redislock_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A refusal is an error that a server might give.
type refusal string

func (r refusal) Error() string { return string(r) }
func (r refusal) RedisError()   {}

// saboteur may refuse each command with an error, before it is sent.
func saboteur(refuse func(cmd redis.Cmder) error) check.Around {
	return func(cmd redis.Cmder, send func() error) error {
		if err := refuse(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return send()
	}
}

// A Release that waits for longer than the lease has released nothing, also if it cannot be certain
// about its last tries.
func TestMovingSlotOutlastsLease(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
		const ttl = 3 * time.Second
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), ttl, nil))
		began, broken := time.Now(), false
		w.rdb.AddHook(saboteur(func(redis.Cmder) error {
			switch {
			case time.Since(began) < 2*ttl:
				return refusal(tryAgain)
			case !broken:
				broken = true
				return io.EOF
			}
			return nil
		}))
		wantIs(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	})
}

// Whoever has the key is told at the end, whatever the last tries have met with.
func TestMovingSlotAfterConflict(t *testing.T) {
	for _, reply := range []string{tryAgain, "LOADING Redis is loading the dataset in memory"} {
		for _, queues := range []bool{false, true} {
			bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, _ *journal) {
				must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), time.Hour, nil))
				opt := &redislock.Options{RetryStrategy: redislock.LinearBackoff(300 * time.Millisecond), Queue: queues}
				for i := range 20 {
					time.AfterFunc(time.Second, func() { mini.Miniredis().SetError(reply) })
					ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second+time.Duration(i)*37*time.Millisecond)
					_, err := w.client.Obtain(ctx, w.keys("a", "b"), time.Minute, opt)
					cancel()
					mini.Miniredis().SetError("")
					wantConflict(t, err, w.key("a"), redislock.ModeWrite)
					wantIs(t, err, context.DeadlineExceeded)
					if !strings.Contains(err.Error(), " attempt") {
						t.Errorf("got error %v, want one that counts the attempts", err)
					}
				}
			})
		}
	}
}

// A Downgrade waits for its time, and as long as the lock is held: the watchdog renews it meanwhile.
func TestMovingSlotConverted(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, 10 * time.Minute} {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), ttl, watched))
			began, moves := time.Now(), true
			w.rdb.AddHook(saboteur(func(cmd redis.Cmder) error {
				if beside := cmd.Args()[2] != 2; beside && moves {
					return refusal(tryAgain) // as a server does that has the lock keys only
				}
				return nil
			}))
			err := lock.Downgrade(t.Context())
			if took := time.Since(began); !isTryAgain(err) || took < 10*time.Second || took > 11*time.Second {
				t.Errorf("ttl %v: got error %v after %v", ttl, err, took)
			}
			moves = false
			noError(t, lock.Release(t.Context()))
		})
	}
}

// A Refresh that waits does not give a new lease to keys that are not ours any more.
func TestMovingSlotRefreshEnds(t *testing.T) {
	for what, ends := range map[string]func(*redislock.Lock){
		"lost": func(lock *redislock.Lock) { <-lock.Lost() },
		"released": func(lock *redislock.Lock) {
			time.Sleep(time.Second)
			_ = lock.Release(context.Background())
		},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, _ *journal) {
				const ttl = 5 * time.Minute
				lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), ttl, nil))
				_ = lock.Lost() // it is watched
				mini.Miniredis().SetError(tryAgain)
				refreshed := make(chan error, 1)
				go func() { refreshed <- lock.Refresh(context.Background(), time.Hour) }()
				ends(lock)
				mini.Miniredis().SetError("")
				wantIs(t, <-refreshed, redislock.ErrLockNotHeld)
				if left := mini.Miniredis().TTL(w.key("a")); left > ttl {
					t.Errorf("a lock that was %s is kept for %v", what, left)
				}
			})
		})
	}
}

// A Refresh asks in time, also if little is left of the lease.
func TestMovingSlotShortLease(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, _ *journal) {
		for range 40 {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), time.Second, nil))
			mini.Miniredis().SetError(tryAgain)
			time.AfterFunc(800*time.Millisecond, func() { mini.Miniredis().SetError("") })
			noError(t, lock.Refresh(t.Context(), time.Minute))
			noError(t, lock.Release(t.Context()))
		}
	})
}

// The time counts for each move, however long an Obtain has waited before.
func TestMovingSlotLater(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
		const turn = 11 * time.Second
		must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), turn+time.Second, nil))
		began := time.Now()
		w.rdb.AddHook(saboteur(func(redis.Cmder) error {
			if at := time.Since(began); at > turn && at < turn+8*time.Second {
				return refusal(tryAgain)
			}
			return nil
		}))
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), time.Minute,
			&redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Second), 12)}))
		noError(t, lock.Release(t.Context()))
	})
}

// What is released after Close has its time.
func TestMovingSlotAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, _ *journal) {
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), time.Hour, nil))
		w.client.Close()
		mini.Miniredis().SetError(tryAgain)
		time.AfterFunc(8*time.Second, func() { mini.Miniredis().SetError("") })
		noError(t, lock.Release(t.Context()))
	})
}

// A Release whose ctx ends between two tries still waits a little for the next one.
func TestReleaseCancelledBetweenTries(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
		broken := true
		w.rdb.AddHook(saboteur(func(redis.Cmder) error {
			if !broken {
				broken = true
				return io.EOF
			}
			return nil
		}))
		for range 20 {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), time.Minute, nil))
			broken = false
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			began := time.Now()
			err := lock.Release(ctx)
			cancel()
			if err != nil || time.Since(began) < 5*time.Millisecond {
				t.Errorf("got error %v after %v", err, time.Since(began))
			}
		}
	})
}
