package topology_test

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
	"github.com/seed-14de3678/redislock/internal/world"
)

// saboteur may refuse each command with an error, before it is sent.
func saboteur(refuse func(cmd redis.Cmder) error) check.Around {
	return check.Around{Instead: func(cmd redis.Cmder) bool {
		err := refuse(cmd)
		return err != nil && check.Answer(cmd, err)
	}}
}

// A Release that waits for longer than the lease fails with a loss, also if its last tries were not answered.
func TestMovingSlotOutlastsLease(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		const ttl = 3 * time.Second
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), ttl, nil))
		began, broken := time.Now(), false
		w.RDB.AddHook(saboteur(func(redis.Cmder) error {
			switch {
			case time.Since(began) < 2*ttl:
				return world.Refusal(tryAgain)
			case !broken:
				broken = true
				return io.EOF
			}
			return nil
		}))
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	})
}

// The holder of the key is named in the error, whatever has happened to the last tries.
func TestMovingSlotAfterConflict(t *testing.T) {
	for _, reply := range []string{tryAgain, "LOADING Redis is loading the dataset in memory"} {
		for _, inLine := range []bool{false, true} {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Hour, nil))
				opt := &redislock.Options{RetryStrategy: redislock.LinearBackoff(300 * time.Millisecond), Queue: inLine}
				for i := range 20 {
					time.AfterFunc(time.Second, func() { mini.Miniredis().SetError(reply) })
					ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second+time.Duration(i)*37*time.Millisecond)
					_, err := w.Client.Obtain(ctx, w.Keys("a", "b"), time.Minute, opt)
					cancel()
					mini.Miniredis().SetError("")
					world.WantConflict(t, err, w.Key("a"), redislock.ModeWrite)
					check.Is(t, err, context.DeadlineExceeded)
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
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), ttl, world.Watched))
			began, moves := time.Now(), true
			w.RDB.AddHook(saboteur(func(cmd redis.Cmder) error {
				if beside := cmd.Args()[2] != 2; beside && moves {
					return world.Refusal(tryAgain) // as a server does that has the lock keys only
				}
				return nil
			}))
			err := lock.Downgrade(t.Context())
			if took := time.Since(began); !isTryAgain(err) || took < 10*time.Second || took > 11*time.Second {
				t.Errorf("ttl %v: got error %v after %v", ttl, err, took)
			}
			moves = false
			check.NoError(t, lock.Release(t.Context()))
		})
	}
}

// A Refresh that waits gives no new lease to keys that the lock has lost meanwhile.
func TestMovingSlotRefreshEnds(t *testing.T) {
	for what, ends := range map[string]func(*redislock.Lock){
		"lost": func(lock *redislock.Lock) { <-lock.Lost() },
		"released": func(lock *redislock.Lock) {
			time.Sleep(time.Second)
			_ = lock.Release(context.Background())
		},
	} {
		t.Run(what, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				const ttl = 5 * time.Minute
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), ttl, nil))
				_ = lock.Lost() // it is watched
				mini.Miniredis().SetError(tryAgain)
				refreshed := make(chan error, 1)
				go func() { refreshed <- lock.Refresh(context.Background(), time.Hour) }()
				ends(lock)
				mini.Miniredis().SetError("")
				check.Is(t, <-refreshed, redislock.ErrLockNotHeld)
				if left := mini.Miniredis().TTL(w.Key("a")); left > ttl {
					t.Errorf("a lock that was %s is kept for %v", what, left)
				}
			})
		})
	}
}

// A Refresh asks in time, also if little is left of the lease.
func TestMovingSlotShortLease(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		for range 40 {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Second, nil))
			mini.Miniredis().SetError(tryAgain)
			time.AfterFunc(800*time.Millisecond, func() { mini.Miniredis().SetError("") })
			check.NoError(t, lock.Refresh(t.Context(), time.Minute))
			check.NoError(t, lock.Release(t.Context()))
		}
	})
}

// The time counts for each move, however long an Obtain has waited before.
func TestMovingSlotLater(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		const turn = 11 * time.Second
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), turn+time.Second, nil))
		began := time.Now()
		w.RDB.AddHook(saboteur(func(redis.Cmder) error {
			if at := time.Since(began); at > turn && at < turn+8*time.Second {
				return world.Refusal(tryAgain)
			}
			return nil
		}))
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Minute,
			&redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Second), 12)}))
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A Release after Close may wait for as long as one before it.
func TestMovingSlotAfterClose(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Hour, nil))
		w.Client.Close()
		mini.Miniredis().SetError(tryAgain)
		time.AfterFunc(8*time.Second, func() { mini.Miniredis().SetError("") })
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A Release whose ctx ends between two tries still waits a little for the next one.
func TestReleaseCancelledBetweenTries(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		broken := true
		w.RDB.AddHook(saboteur(func(redis.Cmder) error {
			if !broken {
				broken = true
				return io.EOF
			}
			return nil
		}))
		for range 20 {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Minute, nil))
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
