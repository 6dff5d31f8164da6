package held_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/quorum"
)

// The function restock does not care whether one server keeps its lock or a majority of several.
func ExampleFromContext() {
	restock := func(ctx context.Context, locks held.Obtainer) error {
		return locks.With(ctx, []string{"lock:stock:9"}, 10*time.Second, &redislock.Options{Fenced: true},
			func(ctx context.Context) error {
				if lock, ok := held.FromContext(ctx).(held.Fenced); ok {
					fmt.Println("has a number:", lock.Fence() > 0)
				}
				return nil
			})
	}

	ctx := context.Background()
	nodes := make([]*redislock.Client, 3)
	for i := range nodes {
		rdb, stop := locktest.Start()
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

// What is obtained is a held.Lock, of whichever Client.
func ExampleOf() {
	rdb, stop := locktest.Start()
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
