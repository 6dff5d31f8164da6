package api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// holderTTL is the lease of a process that holds a key.
const holderTTL = 3 * time.Second

func init() {
	// holder holds a key with a watchdog until it is lost, and says so.
	redistest.RegisterRole("holder", func(args []string) {
		rdb := redis.NewClient(&redis.Options{Addr: args[0]})
		lock, err := redislock.New(rdb).Obtain(context.Background(), args[1:2], holderTTL,
			&redislock.Options{Watchdog: true, Metadata: redislock.InstanceMetadata()})
		if err != nil {
			fmt.Println(err)
			return
		}
		ctx := lock.Context(context.Background())
		fmt.Println("held")
		<-ctx.Done()
		fmt.Println("lost:", errors.Is(context.Cause(ctx), redislock.ErrLockLost))
	})
	// waiter waits for a key.
	redistest.RegisterRole("waiter", func(args []string) {
		rdb := redis.NewClient(&redis.Options{Addr: args[0]})
		fmt.Println("waiting")
		_, err := redislock.New(rdb).Obtain(context.Background(), args[1:2], holderTTL, &redislock.Options{
			Intent: true, RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond),
		})
		fmt.Println(err)
	})
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	t.Run("a holder dies: its lease is all that others wait", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, redistest.Shared(t, redistest.Redis))
		holder := redistest.StartRole(t, "holder", w.RDB.Options().Addr, w.Key("a"))
		world.WantSays(t, holder, "held")
		last := holderTTL
		check.Eventually(t, world.Polled, "it renews", func() bool {
			before := last
			last = check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), w.Key("a")).Result())
			return last > before
		})
		holder.Kill()
		died := time.Now()
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(time.Hour),
		}))
		if waited := time.Since(died); waited > time.Minute { // not for an hour
			t.Errorf("waited %v for the lease of a dead holder, want %v and a jitter", waited, holderTTL)
		}
	})

	t.Run("a waiter dies: readers wait for its intent, and no longer", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, redistest.Shared(t, redistest.Redis))
		reader := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
		waiting := redistest.StartRole(t, "waiter", w.RDB.Options().Addr, w.Key("a"))
		world.WantSays(t, waiting, "waiting")
		check.Eventually(t, 10*time.Second, "the intent is declared", func() bool {
			return check.Must[int64](t)(w.RDB.Exists(t.Context(), world.IntentOf(w.Key("a"))).Result()) == 1
		})
		waiting.Kill()
		died := time.Now()
		late := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(time.Hour),
		}))
		if waited := time.Since(died); waited > time.Minute { // not for an hour
			t.Errorf("waited %v for the intent of a dead writer", waited)
		}
		check.NoError(t, late.Release(t.Context()))
		check.NoError(t, reader.Release(t.Context()))
	})

	t.Run("a holder is stopped for longer than its lease: it is told when it wakes", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, redistest.Shared(t, redistest.Redis))
		holder := redistest.StartRole(t, "holder", w.RDB.Options().Addr, w.Key("a"))
		world.WantSays(t, holder, "held")
		holder.Pause()
		next := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond),
		}))
		holder.Resume()
		world.WantSays(t, holder, "lost: true")
		check.NoError(t, next.Release(t.Context())) // the one that woke has not touched it
	})
}
