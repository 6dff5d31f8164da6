package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
)

// First come, first served, and nobody asks again and again.
func ExampleOptions_queue() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"page:9"}, 10*time.Second, &redislock.Options{
		Queue:    true, // ctx bounds the waiting
		Watchdog: true,
		Fenced:   true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx) // hands it over to whoever is next

	// Refused if somebody with a newer number has been here.
	err = fencing.Set(ctx, rdb, "page:9:text", lock.Fence(), "by who came first", 0)
	fmt.Println(err)
	// Output:
	// <nil>
}

// A holder that was paused, and does not know that its lease is over, is refused by the resource.
func ExampleLock_Fence() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	fenced := &redislock.Options{Fenced: true}
	older, err := client.Obtain(ctx, []string{"page:9"}, time.Second, fenced)
	if err != nil {
		fmt.Println(err)
		return
	}
	time.Sleep(time.Second) // the older one is paused, and its lease ends

	newer, err := client.Obtain(ctx, []string{"page:9"}, time.Minute, fenced)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = fencing.Set(ctx, rdb, "page:9:text", newer.Fence(), "by the newer", 0)
	fmt.Println("newer:", err)
	err = fencing.Set(ctx, rdb, "page:9:text", older.Fence(), "by the older", 0)
	fmt.Println("older:", errors.Is(err, fencing.ErrStale))
	// Output:
	// newer: <nil>
	// older: true
}
