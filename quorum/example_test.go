package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/quorum"
)

// There are five servers that share nothing. Work goes on as long as three of them are there.
func Example() {
	var nodes []*redislock.Client
	for range 5 { // servers that share nothing
		rdb, stop := locktest.Start()
		defer stop()
		node := redislock.New(rdb)
		defer node.Close()
		nodes = append(nodes, node)
	}
	client, err := quorum.New(nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close() // before those of the nodes

	err = client.With(context.Background(), []string{"order:7", "stock:9"}, 10*time.Second, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.ExponentialBackoff(10*time.Millisecond, time.Second), 20),
	}, func(ctx context.Context) error {
		fmt.Println("order and stock are ours")
		return ctx.Err() // it is cancelled if no majority holds the lock any more
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: order and stock are ours
}

// A lock without a function around it.
func ExampleClient_Obtain() {
	var nodes []*redislock.Client
	for range 3 { // servers that share nothing
		rdb, stop := locktest.Start()
		defer stop()
		node := redislock.New(rdb)
		defer node.Close()
		nodes = append(nodes, node)
	}
	client, err := quorum.New(nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	ctx := context.Background()
	lock, err := client.Obtain(ctx, []string{"order:7", "stock:9"}, 10*time.Second, &redislock.Options{
		Metadata: redislock.InstanceMetadata(),
		Watchdog: true, // renews the leases, and wins back nodes that were lost
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	held := lock.Context(ctx) // for the work: it is cancelled if the lock is lost
	fmt.Println(lock.Keys(), lock.Nodes() >= 2, held.Err())
	fmt.Println(lock.Release(ctx))
	// Output:
	// [order:7 stock:9] true <nil>
	// <nil>
}

// A caller that is refused learns who holds the key, and at how many nodes.
func ExampleClient_Obtain_refused() {
	var nodes []*redislock.Client
	for range 3 { // servers that share nothing
		rdb, stop := locktest.Start()
		defer stop()
		node := redislock.New(rdb)
		defer node.Close()
		nodes = append(nodes, node)
	}
	client, err := quorum.New(nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	ctx := context.Background()
	for _, node := range nodes[:2] {
		if _, err := node.Obtain(ctx, []string{"stock:9"}, time.Minute, &redislock.Options{Metadata: "job=import"}); err != nil {
			fmt.Println(err)
			return
		}
	}
	_, err = client.Obtain(ctx, []string{"order:7", "stock:9"}, 10*time.Second, nil)
	var conflict *redislock.ConflictError
	fmt.Println(errors.Is(err, redislock.ErrNotObtained), errors.As(err, &conflict))
	fmt.Println(conflict.Key, conflict.Metadata)
	// Output:
	// true true
	// stock:9 job=import
}

// Readers share, and keep a writer out.
func ExampleClient_ObtainRead() {
	var nodes []*redislock.Client
	for range 3 { // servers that share nothing
		rdb, stop := locktest.Start()
		defer stop()
		node := redislock.New(rdb)
		defer node.Close()
		nodes = append(nodes, node)
	}
	client, err := quorum.New(nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	ctx := context.Background()
	for range 2 {
		lock, err := client.ObtainRead(ctx, []string{"price:9"}, 10*time.Second, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer lock.Release(ctx)
	}
	_, err = client.ObtainSet(ctx, redislock.Set{Write: []string{"price:9"}, Read: []string{"order:7"}}, 10*time.Second, nil)
	fmt.Println(errors.Is(err, redislock.ErrNotObtained))
	// Output: true
}

// The number goes with each write to what the lock protects, which refuses smaller ones.
func ExampleLock_Fence() {
	var nodes []*redislock.Client
	for range 3 { // servers that share nothing
		rdb, stop := locktest.Start()
		defer stop()
		node := redislock.New(rdb)
		defer node.Close()
		nodes = append(nodes, node)
	}
	client, err := quorum.New(nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	ctx := context.Background()
	var before int64
	for range 3 {
		lock, err := client.Obtain(ctx, []string{"stock:9"}, 10*time.Second, &redislock.Options{Fenced: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(lock.Fence() > before)
		before = lock.Fence()
		if err := lock.Release(ctx); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// true
	// true
	// true
}

// The servers keep nothing on disk. A server that restarts is left out until every lease that it has forgotten is
// over. No ttl may be longer than that.
func ExampleNew_minUptime() {
	var nodes []*redislock.Client
	for range 3 { // servers that share nothing
		rdb, stop := locktest.Start()
		defer stop()
		node := redislock.New(rdb, redislock.WithMinUptime(time.Minute))
		defer node.Close()
		nodes = append(nodes, node)
	}
	client, err := quorum.New(nodes, quorum.WithNodeTimeout(500*time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	_, err = client.Obtain(context.Background(), []string{"stock:9"}, time.Hour, nil)
	fmt.Println(errors.Is(err, &redislock.InvalidError{Argument: "ttl"}))
	// Output: true
}
