package redislock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
)

// The keys of locks stand apart from data in Redis, and callers need not write the prefix.
func ExampleWithKeyPrefix() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	rdb.HSet(ctx, "stock:9", "count", 3) // the data itself

	client := redislock.New(rdb, redislock.WithKeyPrefix("lock:"))
	defer client.Close()
	lock, err := client.Obtain(ctx, []string{"stock:9"}, time.Hour, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	fmt.Println(lock.Keys(), rdb.Exists(ctx, "lock:stock:9").Val())
	_, err = client.Obtain(ctx, []string{"stock:9"}, time.Minute, nil)
	fmt.Println(err)
	// Output:
	// [stock:9] 1
	// redislock: "stock:9" is write-locked by a holder that says nothing of itself, 59m left
}

// To look for a lock in Redis one needs its whole name.
func ExampleClient_RedisKey() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb, redislock.WithKeyPrefix("lock:"))
	defer client.Close()

	fmt.Println("redis-cli GET", client.RedisKey("stock:9"))
	// Output: redis-cli GET lock:stock:9
}
