package redislock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/quorum"
)

// A function that is called under a lock finds it in its context, and so the number under which the resource lets it
// write.
func ExampleFromContext() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	save := func(ctx context.Context, left int) error {
		lock := redislock.FromContext(ctx) // nil if there is none, and then its number is 0
		return fencing.Set(ctx, rdb, "stock:9", lock.Fence(), left, time.Hour)
	}
	err := client.With(ctx, []string{"lock:stock:9"}, 10*time.Second, &redislock.Options{Fenced: true},
		func(ctx context.Context) error { return save(ctx, 41) })
	fmt.Println("under the lock:", err)
	fmt.Println("without it:", save(ctx, 40))
	// Output:
	// under the lock: <nil>
	// without it: fencing: invalid number: 0 is not from 1 to 9007199254740991
}

// restock needs a lock, and does not care whether one server keeps it or a majority of several.
func restock(ctx context.Context, locks held.Obtainer) error {
	return locks.With(ctx, []string{"lock:stock:9"}, 10*time.Second, &redislock.Options{Fenced: true},
		func(ctx context.Context) error {
			if held, ok := held.FromContext(ctx).(held.Fenced); ok {
				fmt.Println("has a number:", held.Fence() > 0)
			}
			return nil
		})
}

func ExampleHeldFromContext() {
	ctx := context.Background()
	nodes := make([]*redislock.Client, 3)
	for i := range nodes {
		rdb, stop := startRedis()
		defer stop()
		nodes[i] = redislock.New(rdb)
		defer nodes[i].Close()
	}
	majority, err := quorum.New(nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer majority.Close()

	fmt.Println(restock(ctx, held.Of(nodes[0])))
	fmt.Println(restock(ctx, held.Of(majority)))
	// Output:
	// has a number: true
	// <nil>
	// has a number: true
	// <nil>
}

// What is obtained is a Held, of whichever Client.
func ExampleObtainerOf() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	locks := held.Of(redislock.New(rdb)) // an Obtainer
	held, err := locks.Obtain(ctx, []string{"lock:stock:9"}, 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(held.Keys(), held.Release(ctx))
	// Output: [lock:stock:9] <nil>
}
