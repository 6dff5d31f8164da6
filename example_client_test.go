package redislock_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
)

func ExampleHooks() {
	rdb, stop := locktest.Start()
	defer stop()

	tell := func(what string) func(context.Context, redislock.Event) {
		return func(_ context.Context, e redislock.Event) { fmt.Println(what, e.Keys, e.Mode, e.Err == nil) }
	}
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Obtained: tell("obtained"),
		Refused:  tell("refused"),
		Released: tell("released"),
	}))

	ctx := context.Background()
	lock, err := client.Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, time.Minute, nil)
	if err != nil {
		return
	}
	_, _ = client.ObtainRead(ctx, []string{"lock:stock:9"}, time.Minute, nil)
	_ = lock.Release(ctx)
	// Output:
	// obtained [lock:order:7 lock:stock:9] write true
	// refused [lock:stock:9] read false
	// released [lock:order:7 lock:stock:9] write true
}

// How many wait now, by what they want, is the number that operators ask for first.
func ExampleHooks_waiting() {
	rdb, stop := locktest.Start()
	defer stop()

	var waiting expvar.Map // a gauge of your metrics
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Waiting: func(_ context.Context, e redislock.Event) {
			waiting.Add(e.Name, 1)
			fmt.Println(e.Name, e.Way, "waiting:", waiting.Get(e.Name))
		},
		Waited: func(_ context.Context, e redislock.Event) {
			waiting.Add(e.Name, -1)
			fmt.Println(e.Name, e.Way, "waiting:", waiting.Get(e.Name), "obtained:", e.Err == nil)
		},
	}))
	defer client.Close()

	ctx := context.Background()
	report := []string{"lock:report"}
	if _, err := client.Obtain(ctx, report, 3*time.Second, nil); err != nil { // a holder that dies
		fmt.Println(err)
		return
	}
	lock, err := client.Obtain(ctx, report, time.Minute, &redislock.Options{Queue: true, Name: "nightly-report"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)
	// Output:
	// nightly-report queue waiting: 1
	// nightly-report queue waiting: 0 obtained: true
}

// The hooks of a metrics library and those of the program's own log are told of the same locks. The ID says
// which events are of one lock.
func ExampleWithHooks_several() {
	rdb, stop := locktest.Start()
	defer stop()
	ctx := context.Background()

	held := make(map[uint64]redislock.Event) // under a mutex, where locks are obtained concurrently
	metrics := redislock.Hooks{
		Obtained: func(_ context.Context, e redislock.Event) { held[e.ID] = e },
		Released: func(_ context.Context, e redislock.Event) {
			if e.Ended {
				delete(held, e.ID)
			}
		},
	}
	log := redislock.Hooks{
		Released: func(_ context.Context, e redislock.Event) { fmt.Println("released", e.Keys, "held now:", len(held)) },
	}
	client := redislock.New(rdb, redislock.WithHooks(metrics, log))
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := lock.ReleaseKeys(ctx, []string{"lock:stock:9"}); err != nil {
		fmt.Println(err)
	}
	if err := lock.Release(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// released [lock:stock:9] held now: 1
	// released [lock:order:7] held now: 0
}

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
