package redislock_test

import (
	"context"
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
	if _, err := client.Obtain(ctx, report, 100*time.Millisecond, nil); err != nil { // a holder that dies
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
