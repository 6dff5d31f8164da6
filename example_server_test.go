package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// A lock that a fail-over must not lose, on a primary with two replicas. Here there is none, so nobody
// has the lock.
func ExampleOptions_replicas() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	_, err := client.Obtain(ctx, []string{"order:7"}, 10*time.Second, &redislock.Options{
		Replicas: 2, // all that are configured
		Watchdog: true,
		Fenced:   true,
	})
	fmt.Println(err)
	fmt.Println("a matter of replicas:", errors.Is(err, redislock.ErrNotReplicated))
	// Output:
	// redislock: obtain "order:7": not obtained: not replicated: 0 of 2 replicas acknowledged within 1s
	// a matter of replicas: true
}

// A server without persistence forgets its locks when it restarts. No lease here is longer than 30 s,
// so 30 s later nobody can hold any of them.
func ExampleOptions_minUptime() {
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer rdb.Close()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"order:7"}, 30*time.Second, &redislock.Options{
		MinUptime:     30 * time.Second,
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
