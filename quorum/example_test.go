package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// startNodes starts servers inside the test, and a client for each; stop ends both. If there is no
// server the reason is a part of the Example's output, which then fails.
func startNodes(n int) (rdbs []*redis.Client, stop func()) {
	var stops []func()
	for range n {
		var addr string
		if server, err := redistest.LaunchMini(); err != nil {
			fmt.Println(err)
		} else {
			addr = server.Addr()
			stops = append(stops, server.Stop)
		}
		rdbs = append(rdbs, redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1}))
	}
	return rdbs, func() {
		for _, rdb := range rdbs {
			_ = rdb.Close()
		}
		for _, stop := range stops {
			stop()
		}
	}
}

// There are five servers that share nothing. Work goes on as long as three of them are there.
func Example() {
	rdbs, stop := startNodes(5) // each a *redis.Client of a server of its own
	defer stop()

	var nodes []*redislock.Client
	for _, rdb := range rdbs {
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

// startQuorum makes a Client of three servers inside the test.
func startQuorum(opts ...quorum.Option) (client *quorum.Client, nodes []*redislock.Client, stop func()) {
	rdbs, stopNodes := startNodes(3)
	for _, rdb := range rdbs {
		nodes = append(nodes, redislock.New(rdb))
	}
	client, err := quorum.New(nodes, opts...)
	if err != nil {
		fmt.Println(err)
	}
	return client, nodes, func() {
		client.Close()
		for _, node := range nodes {
			node.Close()
		}
		stopNodes()
	}
}

// A lock without a function around it.
func ExampleClient_Obtain() {
	client, _, stop := startQuorum()
	defer stop()

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
	client, nodes, stop := startQuorum()
	defer stop()

	ctx := context.Background()
	for _, node := range nodes[:2] {
		if _, err := node.Obtain(ctx, []string{"stock:9"}, time.Minute, &redislock.Options{Metadata: "job=import"}); err != nil {
			fmt.Println(err)
			return
		}
	}
	_, err := client.Obtain(ctx, []string{"order:7", "stock:9"}, 10*time.Second, nil)
	var conflict *redislock.ConflictError
	fmt.Println(errors.Is(err, redislock.ErrNotObtained), errors.As(err, &conflict))
	fmt.Println(conflict.Key, conflict.Metadata)
	// Output:
	// true true
	// stock:9 job=import
}

// Readers share, and keep a writer out.
func ExampleClient_ObtainRead() {
	client, _, stop := startQuorum()
	defer stop()

	ctx := context.Background()
	for range 2 {
		lock, err := client.ObtainRead(ctx, []string{"price:9"}, 10*time.Second, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer lock.Release(ctx)
	}
	_, err := client.ObtainSet(ctx, redislock.Set{Write: []string{"price:9"}, Read: []string{"order:7"}}, 10*time.Second, nil)
	fmt.Println(errors.Is(err, redislock.ErrNotObtained))
	// Output: true
}

// The number goes with each write to what the lock protects, which refuses smaller ones.
func ExampleLock_Fence() {
	client, _, stop := startQuorum()
	defer stop()

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
func ExampleWithQuarantine() {
	client, _, stop := startQuorum(quorum.WithQuarantine(time.Minute), quorum.WithNodeTimeout(500*time.Millisecond))
	defer stop()

	_, err := client.Obtain(context.Background(), []string{"stock:9"}, time.Hour, nil)
	fmt.Println(errors.Is(err, &redislock.InvalidError{Argument: "ttl"}))
	// Output: true
}
