package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
)

// doJobs does the jobs of a customer, the oldest first and one at a time, however many workers are told of them.
// A job leaves the list when it is done, so if a worker dies the next one does its job again.
func doJobs(ctx context.Context, rdb *redis.Client, client *redislock.Client, customer string,
	do func(ctx context.Context, job string) error,
) error {
	lock, jobs := []string{"lock:customer:" + customer}, "jobs:"+customer
	opt := &redislock.Options{Queue: true, Fenced: true}
	return client.With(ctx, lock, 10*time.Second, opt, func(ctx context.Context) error {
		for {
			job, err := rdb.LIndex(ctx, jobs, 0).Result() // under the lock, never before it
			if errors.Is(err, redis.Nil) {
				return nil // all are done
			}
			if err == nil {
				err = do(ctx, job)
			}
			if err == nil {
				err = rdb.LRem(ctx, jobs, 1, job).Err()
			}
			if err != nil {
				return err
			}
		}
	})
}

// Several workers do what one customer wants, in order.
func Example_workers() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	for _, job := range []string{"1 open", "2 charge", "3 ship"} {
		rdb.RPush(ctx, "jobs:7", job)
		rdb.RPush(ctx, "customers", "7") // tells a worker
	}

	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			client := redislock.New(rdb)
			defer client.Close()
			customer, err := rdb.BLPop(ctx, time.Minute, "customers").Result()
			if err == nil {
				err = doJobs(ctx, rdb, client, customer[1], func(ctx context.Context, job string) error {
					return rdb.RPush(ctx, "done", job).Err()
				})
			}
			if err != nil {
				fmt.Println(err)
			}
		})
	}
	workers.Wait()
	fmt.Println(rdb.LRange(ctx, "done", 0, -1).Val())
	// Output: [1 open 2 charge 3 ship]
}
