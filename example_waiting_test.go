package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
)

// A request waits for two seconds at most, and then works for as long as it takes.
func ExampleOptions_wait() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	opt := &redislock.Options{Queue: true, Wait: 2 * time.Second}
	err := client.With(ctx, []string{"lock:order:7"}, 10*time.Second, opt, func(ctx context.Context) error {
		other := redislock.New(rdb) // somebody else who wants the order meanwhile
		_, err := other.Obtain(ctx, []string{"lock:order:7"}, time.Minute, &redislock.Options{Wait: 50 * time.Millisecond})
		return err
	})
	switch {
	case errors.Is(err, redislock.ErrWaitOver):
		fmt.Println("busy, still")
	case errors.Is(err, redislock.ErrNotObtained):
		fmt.Println("busy")
	case err != nil:
		fmt.Println(err)
	}
	// Output: busy, still
}

// untilClosing is a policy of one's own: it waits for half of the time that is left until closing, each time.
type untilClosing struct{ closing time.Time }

func (u untilClosing) NextBackOff() time.Duration {
	if left := time.Until(u.closing); left > 10*time.Millisecond {
		return left / 2
	}
	return -1 // ends the Obtain
}

// Anything with a NextBackOff is a BackOff. Those of cenkalti/backoff have a Reset as well, which is not needed.
func ExampleBackOff() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	if _, err := client.Obtain(ctx, []string{"lock:desk:3"}, time.Minute, nil); err != nil { // somebody else
		fmt.Println(err)
		return
	}
	_, err := client.Obtain(ctx, []string{"lock:desk:3"}, time.Minute, &redislock.Options{
		RetryStrategy: func() redislock.BackOff { return untilClosing{time.Now().Add(100 * time.Millisecond)} },
	})
	fmt.Println(errors.Is(err, redislock.ErrNotObtained))
	// Output: true
}

// A request has the order, and waits for the stock: an observer finds the same id at both.
func ExampleWithCaller() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()
	stock, err := client.Obtain(context.Background(), []string{"lock:stock:9"}, time.Minute, nil) // somebody else
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := redislock.WithCaller(context.Background(), "request-31") // where the request comes in
	done := make(chan error)
	go func() {
		done <- client.With(ctx, []string{"lock:order:7"}, time.Minute, nil, func(ctx context.Context) error {
			queue := &redislock.Options{Queue: true}
			return client.With(ctx, []string{"lock:stock:9"}, time.Minute, queue, func(context.Context) error {
				fmt.Println("the request has both")
				return nil
			})
		})
	}()
	for {
		states, err := client.Inspect(context.Background(), []string{"lock:order:7", "lock:stock:9"})
		if err != nil {
			fmt.Println(err)
			return
		}
		if order, stock := states[0], states[1]; len(order.Holders) > 0 && len(stock.Line) > 0 {
			fmt.Println(order.Holders[0].Caller, "holds", order.Key)
			fmt.Println(stock.Line[0].Caller, "waits for", stock.Key)
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println(errors.Join(stock.Release(context.Background()), <-done))
	// Output:
	// request-31 holds lock:order:7
	// request-31 waits for lock:stock:9
	// the request has both
	// <nil>
}
