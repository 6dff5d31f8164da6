// A program that runs a job under the lock of a Locker.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	client := redislock.New(rdb)
	defer client.Close()

	locker, err := redislockgocron.NewLocker(client, 10*time.Second, &redislock.Options{HoldAtLeast: time.Second})
	if err != nil {
		return err
	}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		return err
	}
	done := make(chan struct{})
	_, err = scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()),
		gocron.NewTask(func() { close(done) }), gocron.WithName("once"))
	if err != nil {
		return err
	}
	scheduler.Start()
	select {
	case <-done:
	case <-time.After(time.Minute):
		err = errors.New("the job has not run")
	}
	return errors.Join(err, scheduler.ShutdownWithContext(ctx))
}
