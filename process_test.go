package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
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

func wantLine(t *testing.T, p *redistest.Process, want string) {
	t.Helper()
	if got := must[string](t)(p.ReadLine(time.Minute)); got != want {
		t.Fatalf("the process says %q, want %q", got, want)
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	t.Run("a holder dies: its lease is all that others wait", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, redistest.Shared(t, redistest.Redis))
		holder := redistest.StartRole(t, "holder", w.rdb.Options().Addr, w.key("a"))
		wantLine(t, holder, "held")
		last := holderTTL
		eventually(t, polled, "it renews", func() bool {
			before := last
			last = must[time.Duration](t)(w.rdb.PTTL(t.Context(), w.key("a")).Result())
			return last > before
		})
		holder.Kill()
		died := time.Now()
		must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(time.Hour),
		}))
		if waited := time.Since(died); waited > time.Minute { // not for an hour
			t.Errorf("waited %v for the lease of a dead holder, want %v and a jitter", waited, holderTTL)
		}
	})

	t.Run("a waiter dies: readers wait for its intent, and no longer", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, redistest.Shared(t, redistest.Redis))
		reader := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
		waiting := redistest.StartRole(t, "waiter", w.rdb.Options().Addr, w.key("a"))
		wantLine(t, waiting, "waiting")
		eventually(t, 10*time.Second, "the intent is declared", func() bool {
			return must[int64](t)(w.rdb.Exists(t.Context(), intentOf(w.key("a"))).Result()) == 1
		})
		waiting.Kill()
		died := time.Now()
		late := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(time.Hour),
		}))
		if waited := time.Since(died); waited > time.Minute { // not for an hour
			t.Errorf("waited %v for the intent of a dead writer", waited)
		}
		noError(t, late.Release(t.Context()))
		noError(t, reader.Release(t.Context()))
	})

	t.Run("a holder is stopped for longer than its lease: it is told when it wakes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, redistest.Shared(t, redistest.Redis))
		holder := redistest.StartRole(t, "holder", w.rdb.Options().Addr, w.key("a"))
		wantLine(t, holder, "held")
		holder.Pause()
		next := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), long, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond),
		}))
		holder.Resume()
		wantLine(t, holder, "lost: true")
		noError(t, next.Release(t.Context())) // the one that woke has not touched it
	})
}
