package recipes_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/multi"
)

// withAccounts locks all of the accounts, each on its server.
func withAccounts(ctx context.Context, shards []*redislock.Client, accounts []int, fn func(context.Context) error) error {
	var parts []multi.Part
	for _, account := range accounts {
		shard := account % len(shards)
		parts = append(parts, multi.Part{
			Client: shards[shard],
			Place:  fmt.Sprintf("shard-%02d", shard), // the same in each process
			Set:    redislock.Set{Write: []string{fmt.Sprintf("lock:account:%d", account)}},
		})
	}
	return multi.With(ctx, parts, 10*time.Second, &redislock.Options{Queue: true, Wait: 5 * time.Second}, fn)
}

// Two accounts are on two servers.
func Example_shards() {
	north, stopNorth := locktest.Start()
	defer stopNorth()
	south, stopSouth := locktest.Start()
	defer stopSouth()

	shards := []*redislock.Client{redislock.New(north), redislock.New(south)}
	for _, shard := range shards {
		defer shard.Close()
	}
	fmt.Println(withAccounts(context.Background(), shards, []int{3, 8}, func(ctx context.Context) error {
		for _, part := range multi.FromContext(ctx).Parts() {
			fmt.Println(part.Place, part.Keys)
		}
		return ctx.Err() // it ends if one of them is lost
	}))
	// Output:
	// shard-00 [lock:account:8]
	// shard-01 [lock:account:3]
	// <nil>
}
