package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
)

// A holder hangs, and somebody on call takes the lock from it.
func ExampleClient_Break() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	keys := []string{"lock:report:daily"}
	stuck, err := client.Obtain(ctx, keys, time.Hour, &redislock.Options{Metadata: "host=web-3 pid=812"})
	if err != nil {
		fmt.Println(err)
		return
	}

	broken, err := client.Break(ctx, keys, "web-3 hangs")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range broken {
		fmt.Println(b.Key, b.Mode, b.Metadata)
	}
	fmt.Println(errors.Is(stuck.Release(ctx), redislock.ErrLockNotHeld))
	// Output:
	// lock:report:daily write host=web-3 pid=812
	// true
}

// The holder's Client listens, so the work ends at once, and knows why.
func ExampleWithBreakNotices() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	holder := redislock.New(rdb, redislock.WithBreakNotices())
	defer holder.Close()
	keys := []string{"lock:report:daily"}
	err := holder.With(ctx, keys, 3*time.Second, nil, func(work context.Context) error {
		for rdb.PubSubNumSub(ctx, "redislock:break").Val()["redislock:break"] == 0 {
			time.Sleep(time.Millisecond) // the subscription takes a moment
		}
		if _, err := redislock.New(rdb).Break(ctx, keys, "the report is wrong"); err != nil { // elsewhere
			return err
		}
		<-work.Done()
		return nil
	})
	fmt.Println(errors.Is(err, redislock.ErrLockLost), errors.Is(err, redislock.ErrBroken))
	fmt.Println(err)
	// Output:
	// true true
	// redislock: lock lost: "lock:report:daily" was broken: the report is wrong
}
