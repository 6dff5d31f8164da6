package outcome_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/wire"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A lock counts on the keys that it has: what it has freed a clean-up may take that belongs to another
// Obtain of its token.
func TestReleaseKeysReducesClaim(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		client := redislock.New(rdb)
		defer client.Close()
		keys := []string{"a", "b", "c"}

		lock, err := client.As(t.Name()).Obtain(t.Context(), keys, time.Hour, nil)
		check.NoError(t, err)
		rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Of("obtain") { // is executed, and not answered
				cmd.SetErr(io.EOF)
			}
		}})
		for _, key := range []string{"b", "a"} {
			check.NoError(t, lock.ReleaseKeys(t.Context(), []string{key}))
			_, err := client.As(t.Name()).Obtain(t.Context(), keys, time.Hour, nil)
			check.Is(t, err, redislock.ErrUnknownOutcome)
			time.Sleep(time.Minute)
			for _, each := range keys {
				held := rdb.Exists(t.Context(), each).Val() > 0
				if want := slices.Contains(lock.Keys(), each); held != want {
					t.Errorf("the lock has %q; %q is held: %t, want %t", lock.Keys(), each, held, want)
				}
			}
		}
	})
}

// A yes answers every script at once that it has done what it was asked for.
type yes struct{ redis.Scripter }

func (yes) Eval(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(int64(1))
	return cmd
}

func (y yes) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return y.Eval(ctx, "", nil)
}

// Freeing keys takes two mutexes, and so does looking for the keys that others of the token count on.
func TestReleaseKeysAndClaims(t *testing.T) {
	t.Parallel()
	client := redislock.New(yes{})
	t.Cleanup(client.Close)
	owner, keys := client.As(t.Name()), make([]string, 200)
	for i := range keys {
		keys[i] = fmt.Sprint("of many ", i)
	}
	freed, looked := make(chan error, 1), make(chan error, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		freed <- freeOneByOne(t, owner, keys)
	}()
	go func() {
		var err error
		for err == nil {
			select {
			case <-over:
				looked <- nil
				return
			default:
			}
			// When an operation ends it is asked whether its token is still of use to anybody.
			var lock *redislock.Lock
			if lock, err = owner.Obtain(t.Context(), []string{"another"}, time.Minute, nil); err == nil {
				err = lock.Release(t.Context())
			}
		}
		looked <- err
	}()
	for _, done := range []chan error{freed, looked} {
		select {
		case err := <-done:
			check.NoError(t, err)
		case <-time.After(3 * time.Minute):
			t.Fatal("they wait for each other")
		}
	}
}

func freeOneByOne(t *testing.T, owner redislock.Owner, keys []string) error {
	t.Helper()
	for range 20 {
		lock, err := owner.Obtain(t.Context(), keys, time.Minute, nil)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := lock.ReleaseKeys(t.Context(), []string{key}); err != nil {
				return err
			}
		}
	}
	return nil
}

// A Release that was not answered, and a lock that was lost, count on no key any more: a clean-up frees what its own Obtain or
// Release may have left.
func TestEndedLockCountsOnNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, rdb *redis.Client, lock *redislock.Lock){
		"lost": func(t *testing.T, rdb *redis.Client, lock *redislock.Lock) {
			t.Helper()
			check.NoError(t, rdb.Del(t.Context(), "a").Err())
			check.Is(t, lock.Refresh(t.Context(), 10*time.Hour), redislock.ErrLockNotHeld)
		},
		"released, and not answered": func(t *testing.T, rdb *redis.Client, lock *redislock.Lock) {
			t.Helper()
			failNext(rdb, "release", func() error { return io.EOF })
			check.Is(t, lock.Release(t.Context()), redislock.ErrUnknownOutcome)
		},
		"released, and answered too late": func(t *testing.T, rdb *redis.Client, lock *redislock.Lock) {
			t.Helper()
			failNext(rdb, "release", func() error { time.Sleep(time.Minute); return io.EOF })
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			check.Is(t, lock.Release(ctx), redislock.ErrUnknownOutcome)
		},
		"released": func(t *testing.T, _ *redis.Client, lock *redislock.Lock) {
			t.Helper()
			check.NoError(t, lock.Release(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t)
				client := redislock.New(rdb)
				defer client.Close()
				owner := client.As(t.Name())
				end(t, rdb, check.Must[*redislock.Lock](t)(owner.Obtain(t.Context(), []string{"a"}, 10*time.Hour, nil)))
				time.Sleep(time.Hour)
				if n := rdb.Exists(t.Context(), "a").Val(); n != 0 {
					t.Error("the key is there still")
				}
				rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
					if check.RunIn(cmd).Of("obtain") { // is executed, and not answered
						cmd.SetErr(io.EOF)
					}
				}})
				_, err := owner.Obtain(t.Context(), []string{"a"}, time.Hour, nil)
				check.Is(t, err, redislock.ErrUnknownOutcome)
				time.Sleep(time.Minute)
				if n := rdb.Exists(t.Context(), "a").Val(); n != 0 {
					t.Error("a clean-up has spared the key for a lock that has ended")
				}
			})
		})
	}
}

// A lock whose token was asked for counts on its keys for as long as it holds them, as one does whose caller has chosen the token.
func TestShownTokenCountsOnKeys(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"while it is held": false, "after its Release": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t)
				client := redislock.New(rdb)
				defer client.Close()
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, time.Hour, nil))
				if released {
					check.NoError(t, lock.Release(t.Context()))
				}
				owner := client.As(lock.Token())
				rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
					if check.RunIn(cmd).Of("obtain") { // is executed, and not answered
						cmd.SetErr(io.EOF)
					}
				}})
				_, err := owner.Obtain(t.Context(), []string{"a", "b"}, time.Hour, nil)
				check.Is(t, err, redislock.ErrUnknownOutcome)
				time.Sleep(time.Minute)
				for key, want := range map[string]bool{"a": !released, "b": false} {
					if held := rdb.Exists(t.Context(), key).Val() > 0; held != want {
						t.Errorf("%q is held: %t, want %t", key, held, want)
					}
				}
			})
		})
	}
}

// What a handle that Attach has made has to clear up spares the keys that others of the token count on.
func TestAttachedSparesOthers(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		client := redislock.New(rdb)
		defer client.Close()
		failNext(rdb, "release", func() error { return io.EOF })
		attached := client.Attach([]string{"a"}, t.Name())
		check.Is(t, attached.Release(t.Context()), redislock.ErrUnknownOutcome)
		lock := check.Must[*redislock.Lock](t)(client.As(t.Name()).Obtain(t.Context(), []string{"a"}, time.Hour, nil))
		time.Sleep(time.Minute)
		check.NoError(t, lock.Refresh(t.Context(), time.Hour))
		check.NoError(t, lock.Release(t.Context()))
	})
}

// failNext has the tries of the next call of a script not be sent. They fail for some reason.
func failNext(rdb *redis.Client, script string, why func() error) {
	var tries atomic.Int64
	rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
		if !check.RunIn(cmd).Of(script) || tries.Add(1) > wire.DefaultTries {
			return false
		}
		return check.Answer(cmd, why())
	}})
}
