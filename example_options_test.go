package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/locktest"
)

// Any policy of cenkalti/backoff makes a strategy, which returns a new one for each Obtain, because it has state.
func ExampleRetryStrategy() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	patient := func() redislock.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(5*time.Millisecond),
			backoff.WithMaxElapsedTime(time.Minute), // then Obtain gives up
		)
	}
	keys := []string{"lock:stock:9"}
	if _, err := client.Obtain(ctx, keys, 3*time.Second, nil); err != nil { // a holder that has died
		fmt.Println(err)
		return
	}
	lock, err := client.Obtain(ctx, keys, time.Minute, &redislock.Options{RetryStrategy: patient})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.Release(ctx))
	// Output: <nil>
}

func ExampleLinearBackoff() {
	strategy := redislock.LinearBackoff(50 * time.Millisecond)
	waits := strategy() // as an Obtain does it
	fmt.Println(waits.NextBackOff(), waits.NextBackOff())
	// Output: 50ms 50ms
}

func ExampleExponentialBackoff() {
	strategy := redislock.ExponentialBackoff(10*time.Millisecond, time.Second)
	waits := strategy() // as an Obtain does it
	for _, length := range []time.Duration{10, 20, 40, 80} {
		length *= time.Millisecond
		wait := waits.NextBackOff()
		fmt.Println(length, length/2 <= wait && wait <= length*3/2)
	}
	// Output:
	// 10ms true
	// 20ms true
	// 40ms true
	// 80ms true
}

func ExampleLimitRetry() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Refused: func(_ context.Context, e redislock.Event) { fmt.Println("asked", e.Attempts, "times") },
	}))
	lock, err := client.Obtain(ctx, []string{"lock:stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	_, err = client.Obtain(ctx, []string{"lock:stock:9"}, time.Minute, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2),
	})
	fmt.Println(errors.Is(err, redislock.ErrNotObtained))
	// Output:
	// asked 3 times
	// true
}

// stopping is for a strategy that was written for bsm/redislock, where a wait of 0 means "stop".
type stopping struct {
	strategy interface{ NextBackoff() time.Duration }
}

func (s stopping) NextBackOff() time.Duration {
	if wait := s.strategy.NextBackoff(); wait > 0 {
		return wait
	}
	return -1
}

// countdown was written for bsm/redislock: it waits for one millisecond, so many times, and then stops.
type countdown int

func (c *countdown) NextBackoff() time.Duration {
	*c--
	return time.Duration(max(0, min(1, *c))) * time.Millisecond
}

// A strategy that returns 0 to stop, as it did with bsm/redislock, needs an adapter.
func ExampleRetryStrategy_stop() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Refused: func(_ context.Context, e redislock.Event) { fmt.Println("attempts:", e.Attempts) },
	}))
	lock, err := client.Obtain(ctx, []string{"lock:stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	_, err = client.Obtain(ctx, []string{"lock:stock:9"}, time.Minute, &redislock.Options{
		RetryStrategy: func() redislock.BackOff {
			waits := countdown(3) // a new one for each Obtain: it has state
			return stopping{&waits}
		},
	})
	fmt.Println(errors.Is(err, redislock.ErrNotObtained))
	// Output:
	// attempts: 3
	// true
}

// A writer that waits keeps new readers out, so that it has its turn.
func ExampleOptions_intent() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := redislock.New(rdb)
	reader, err := client.ObtainRead(ctx, []string{"lock:price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	written := make(chan error)
	go func() {
		written <- client.With(ctx, []string{"lock:price:9"}, time.Minute, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond),
			Metadata:      "job=repricing",
			Intent:        true,
		}, func(context.Context) error { return nil })
	}()

	var conflict *redislock.ConflictError
	for conflict == nil && ctx.Err() == nil { // readers are let in until the writer has asked once
		late, err := client.ObtainRead(ctx, []string{"lock:price:9"}, time.Minute, nil)
		if !errors.As(err, &conflict) && err == nil {
			_ = late.Release(ctx)
		}
	}
	if conflict != nil {
		fmt.Println("late reader:", conflict.Mode, conflict.Metadata)
	}
	fmt.Println("early reader:", reader.Release(ctx))
	fmt.Println("writer:", <-written)
	// Output:
	// late reader: intent job=repricing
	// early reader: <nil>
	// writer: <nil>
}

// First come, first served, and nobody asks again and again.
func ExampleOptions_queue() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"lock:page:9"}, 10*time.Second, &redislock.Options{
		Queue:    true, // ctx bounds the waiting
		Watchdog: true,
		Fenced:   true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx) // hands it over to the next in line

	// Refused if somebody with a newer number has been here.
	err = fencing.Set(ctx, rdb, "page:9:text", lock.Fence(), "by who came first", 0)
	fmt.Println(err)
	// Output:
	// <nil>
}

// A lock that a fail-over must not lose counts only when both replicas of the primary have it. Here there is no
// replica, so nobody gets the lock.
func ExampleWithReplicas() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb, redislock.WithReplicas(2)) // all that are configured
	defer client.Close()

	_, err := client.Obtain(ctx, []string{"lock:order:7"}, 10*time.Second, &redislock.Options{Watchdog: true, Fenced: true})
	fmt.Println(err)
	fmt.Println("a matter of replicas:", errors.Is(err, redislock.ErrNotReplicated))
	// Output:
	// redislock: obtain "lock:order:7": not obtained: not replicated: 0 of 2 replicas acknowledged within 1s
	// a matter of replicas: true
}

// A server without persistence forgets its locks when it restarts. No lease here is longer than 30 s,
// so 30 s later nobody can hold any of them.
func ExampleWithMinUptime() {
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer rdb.Close()

	ctx := context.Background()
	client := redislock.New(rdb, redislock.WithMinUptime(30*time.Second))
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"lock:order:7"}, 30*time.Second, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(time.Second),
	})
	var conflict *redislock.ConflictError
	if errors.As(err, &conflict) && conflict.Mode == redislock.ModeRestarted {
		fmt.Println("the server has just restarted, try again in", conflict.TTL)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)
}

func ExampleWithLogger() {
	rdb, stop := locktest.Start()
	defer stop()

	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "error" {
				return slog.Attr{} // only here: they are not the same each time
			}
			return a
		},
	}))
	client := redislock.New(rdb, redislock.WithLogger(logger))

	ctx := context.Background()
	lock, err := client.Obtain(ctx, []string{"lock:stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	rdb.Del(ctx, "lock:stock:9") // somebody meddles
	fmt.Println(errors.Is(lock.Refresh(ctx, time.Minute), redislock.ErrLockNotHeld))
	// Output:
	// level=WARN msg="redislock: lock lost" keys=[lock:stock:9]
	// true
}

// shop is a client of one service among several: its keys have a prefix.
type shop struct{ *redis.Client }

func (s shop) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return s.Client.Eval(ctx, script, s.prefixed(keys), args...)
}

func (s shop) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return s.Client.EvalSha(ctx, sha, s.prefixed(keys), args...)
}

func (shop) prefixed(keys []string) []string {
	prefixed := make([]string, len(keys))
	for i, key := range keys {
		prefixed[i] = "shop:" + key
	}
	return prefixed
}

// All keys go through the wrapper. What it wraps is used for the channels of the line.
func ExampleWithWrapped() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(shop{rdb}, redislock.WithWrapped(rdb))
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"lock:order:7"}, 10*time.Second, &redislock.Options{Queue: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)
	fmt.Println(rdb.Keys(ctx, "*").Val())
	// Output: [shop:lock:order:7]
}
