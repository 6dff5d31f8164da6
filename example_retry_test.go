package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
)

// Any BackOff of cenkalti/backoff makes a strategy. A new one for each call: it has state.
func ExampleRetryStrategy() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	patient := func() backoff.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(5*time.Millisecond),
			backoff.WithMaxElapsedTime(time.Minute), // then Obtain gives up
		)
	}
	keys := []string{"stock:9"}
	if _, err := client.Obtain(ctx, keys, time.Second, nil); err != nil { // a holder that has died
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
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Refused: func(_ context.Context, e redislock.Event) { fmt.Println("asked", e.Attempts, "times") },
	}))
	lock, err := client.Obtain(ctx, []string{"stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	_, err = client.Obtain(ctx, []string{"stock:9"}, time.Minute, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2),
	})
	fmt.Println(errors.Is(err, redislock.ErrNotObtained))
	// Output:
	// asked 3 times
	// true
}
