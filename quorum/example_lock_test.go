package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/quorum"
)

// The function that runs under the lock finds it in its context, and with it the fencing number. It waits for the lock for
// two seconds at most, and then works for as long as it likes.
func ExampleFromContext() {
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

	write := func(ctx context.Context, what string) { // somewhere below
		lock := quorum.FromContext(ctx)
		fmt.Println(what, "of", lock.Keys(), "with a number:", lock.Fence() > 0)
	}
	opt := &redislock.Options{
		Fenced: true, Wait: 10 * time.Second, RetryStrategy: redislock.ExponentialBackoff(10*time.Millisecond, time.Second),
	}
	err = client.With(context.Background(), []string{"stock:9"}, 10*time.Second, opt, func(ctx context.Context) error {
		write(ctx, "the count")
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(quorum.FromContext(context.Background()) == nil)
	// Output:
	// the count of [stock:9] with a number: true
	// true
}

// Each thing that happens to a lock is one event, however many nodes there are.
func ExampleWithHooks() {
	var nodes []*redislock.Client
	for range 3 { // servers that share nothing
		rdb, stop := locktest.Start()
		defer stop()
		node := redislock.New(rdb)
		defer node.Close()
		nodes = append(nodes, node)
	}
	client, err := quorum.New(nodes, quorum.WithHooks(redislock.Hooks{
		Obtained: func(_ context.Context, e redislock.Event) {
			fmt.Println(e.Name, "obtained after", e.Attempts, "attempt")
		},
		Released: func(_ context.Context, e redislock.Event) { fmt.Println(e.Name, "released:", e.Keys, e.Err) },
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	opt := &redislock.Options{Name: "nightly-report"}
	err = client.With(context.Background(), []string{"report:7"}, 10*time.Second, opt, func(context.Context) error { return nil })
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// nightly-report obtained after 1 attempt
	// nightly-report released: [report:7] <nil>
}

// One process takes the lock, and another one, which has been given the token, releases it.
func ExampleClient_Attach() {
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
	keys := []string{"upload:7"}
	if _, err := client.As("sGq0aU3x").Obtain(ctx, keys, time.Minute, nil); err != nil {
		fmt.Println(err)
		return
	}

	lock := client.Attach(keys, "sGq0aU3x") // there
	ttl, err := lock.TTL(ctx)
	fmt.Println(ttl > 50*time.Second, err)
	fmt.Println(lock.Release(ctx))
	// Output:
	// true <nil>
	// <nil>
}

// Every machine starts the job by its own clock. The first one runs it, and leaves the keys taken until all clocks have struck.
func ExampleLock_Leave() {
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
	lock, err := client.Obtain(ctx, []string{"cron:report"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the report is written")
	if err := lock.Leave(ctx, 30*time.Minute); err != nil {
		fmt.Println(err)
	}

	_, err = client.Obtain(ctx, []string{"cron:report"}, time.Minute, nil) // the next machine
	var conflict *redislock.ConflictError
	fmt.Println(errors.As(err, &conflict) && conflict.Left, conflict.TTL > 29*time.Minute)
	// Output:
	// the report is written
	// true true
}

// With HoldAtLeast a Release does the same, and so does With.
func ExampleClient_With_holdAtLeast() {
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
	tick := func() error {
		err := client.With(ctx, []string{"cron:report"}, time.Minute,
			&redislock.Options{HoldAtLeast: 30 * time.Minute}, func(context.Context) error {
				fmt.Println("the report is written")
				return nil
			})
		if errors.Is(err, redislock.ErrNotObtained) {
			return nil // another machine has this tick
		}
		return err
	}
	for range 3 { // machines
		if err := tick(); err != nil {
			fmt.Println(err)
		}
	}
	// Output: the report is written
}

// What each node has said, when too few have granted the lock.
func ExampleNodeErrors() {
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
	for _, node := range nodes {
		if _, err := node.Obtain(ctx, []string{"stock:9"}, time.Minute, &redislock.Options{Metadata: "job=import"}); err != nil {
			fmt.Println(err)
			return
		}
	}
	_, err = client.Obtain(ctx, []string{"stock:9"}, 10*time.Second, nil)
	conflicts := 0
	for _, node := range quorum.NodeErrors(err) {
		if conflict, ok := errors.AsType[*redislock.ConflictError](node); ok && conflict.Metadata == "job=import" {
			conflicts++ // at nodes[node.Node]
		}
	}
	fmt.Println(conflicts >= 2) // a majority has decided by then; the last one may not have answered yet
	// Output: true
}

// The first node that has not done what it was asked for.
func ExampleNodeError() {
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

	nodes[0].Close() // and the other Clients of this node's server
	nodes[1].Close()
	_, err = client.Obtain(context.Background(), []string{"stock:9"}, 10*time.Second, nil)
	var node *quorum.NodeError
	if errors.As(err, &node) {
		fmt.Println(node.Node)
		fmt.Println(node.Err)
	}
	// Output:
	// 0
	// redislock: obtain: the client is closed: redis: client is closed
}

// Code that does not care which of them it is given takes a Client of one server, or of a quorum.
func ExampleClient_obtainer() {
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

	work := func(locks held.Obtainer) error {
		return locks.With(context.Background(), []string{"stock:9"}, 10*time.Second, nil, func(context.Context) error {
			fmt.Println("stock is ours")
			return nil
		})
	}
	fmt.Println(work(held.Of(nodes[0])))
	fmt.Println(work(held.Of(client)))
	// Output:
	// stock is ours
	// <nil>
	// stock is ours
	// <nil>
}
