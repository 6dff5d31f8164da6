package multi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/multi"
)

// The keys have no common hash tag. The same program runs on a Cluster and on a single server.
func Example() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb) // rdb: a *redis.ClusterClient
	defer client.Close()

	parts := multi.BySlot(client, redislock.Set{Write: []string{"order:7", "stock:9"}, Read: []string{"price:9"}})
	err := multi.With(context.Background(), parts, 10*time.Second, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.ExponentialBackoff(10*time.Millisecond, time.Second), 20),
	}, func(ctx context.Context) error {
		fmt.Println("order and stock are ours, and nobody changes the price")
		return ctx.Err() // it is cancelled if any part is lost
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: order and stock are ours, and nobody changes the price
}

// The data is on two servers. Each server has a name that is the same in every process.
func ExampleObtain() {
	shop, stopShop := locktest.Start()
	defer stopShop()
	bank, stopBank := locktest.Start()
	defer stopBank()

	ctx := context.Background()
	shopClient, bankClient := redislock.New(shop), redislock.New(bank)
	defer shopClient.Close()
	defer bankClient.Close()

	lock, err := multi.Obtain(ctx, []multi.Part{
		{Client: shopClient, Place: "shop", Set: redislock.Set{Write: []string{"order:7", "stock:9"}}},
		{Client: bankClient, Place: "bank", Set: redislock.Set{Write: []string{"account:3"}}},
	}, 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, part := range lock.Parts() {
		fmt.Println(part.Place, part.Keys)
	}
	fmt.Println(lock.Release(ctx))
	// Output:
	// bank [account:3]
	// shop [order:7 stock:9]
	// <nil>
}

// A caller that is refused learns who holds the key, and holds nothing itself.
func ExampleObtain_refused() {
	shop, stopShop := locktest.Start()
	defer stopShop()
	bank, stopBank := locktest.Start()
	defer stopBank()

	ctx := context.Background()
	shopClient, bankClient := redislock.New(shop), redislock.New(bank)
	other, err := shopClient.Obtain(ctx, []string{"stock:9"}, time.Minute, &redislock.Options{Metadata: "job=import"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer other.Release(ctx)

	_, err = multi.Obtain(ctx, []multi.Part{
		{Client: shopClient, Place: "shop", Set: redislock.Set{Write: []string{"order:7", "stock:9"}}},
		{Client: bankClient, Place: "bank", Set: redislock.Set{Write: []string{"account:3"}}},
	}, 10*time.Second, nil)
	var conflict *redislock.ConflictError
	fmt.Println(errors.Is(err, redislock.ErrNotObtained), errors.As(err, &conflict))
	fmt.Println(conflict.Key, conflict.Metadata)
	fmt.Println(bank.Exists(ctx, "account:3").Val(), shop.Exists(ctx, "order:7").Val())
	// Output:
	// true true
	// stock:9 job=import
	// 0 0
}

// Each key is protected by the number of its own part.
func ExampleLock_Parts() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := multi.Obtain(ctx, multi.BySlot(client, redislock.Set{Write: []string{"order:7", "stock:9"}}), 10*time.Second,
		&redislock.Options{Fenced: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	for _, part := range lock.Parts() {
		if slices.Contains(part.Keys, "stock:9") {
			fmt.Println("has a number:", part.Fence > 0) // for fencing.Set, for example
		}
	}
	// Output: has a number: true
}

// The function finds the lock under which it runs, and in it the number for each of its keys.
func ExampleFromContext() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	pay := func(ctx context.Context) error {
		for _, part := range multi.FromContext(ctx).Parts() {
			fmt.Println(part.Keys, "has a number:", part.Fence > 0)
		}
		return nil
	}
	parts := multi.BySlot(client, redislock.Set{Write: []string{"order:7"}})
	fmt.Println(multi.With(context.Background(), parts, 10*time.Second, &redislock.Options{Fenced: true}, pay))
	// Output:
	// [order:7] has a number: true
	// <nil>
}

// The hooks of a Client tell of each lock as of one, whatever parts it has.
func ExampleClient() {
	shop, stopShop := locktest.Start()
	defer stopShop()
	bank, stopBank := locktest.Start()
	defer stopBank()

	shopClient, bankClient := redislock.New(shop), redislock.New(bank)
	defer shopClient.Close()
	defer bankClient.Close()
	parts := []multi.Part{
		{Client: shopClient, Place: "shop", Set: redislock.Set{Write: []string{"order:7"}}},
		{Client: bankClient, Place: "bank", Set: redislock.Set{Write: []string{"account:3"}}},
	}

	client := multi.Client{Hooks: redislock.Hooks{
		Obtained: func(_ context.Context, e redislock.Event) { fmt.Println("obtained", e.Name, e.Keys) },
		Released: func(_ context.Context, e redislock.Event) { fmt.Println("released", e.Name, e.Err) },
	}}
	err := client.With(context.Background(), parts, 10*time.Second, &redislock.Options{Name: "payment"}, func(context.Context) error {
		return nil
	})
	fmt.Println(err)
	// Output:
	// obtained payment [account:3 order:7]
	// released payment <nil>
	// <nil>
}

func ExampleClient_Obtain() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	var waiting atomic.Int64 // how many wait now: a gauge of the metrics, most often
	locks := multi.Client{Hooks: redislock.Hooks{
		Waiting: func(context.Context, redislock.Event) { waiting.Add(1) },
		Waited:  func(context.Context, redislock.Event) { waiting.Add(-1) },
	}}
	lock, err := locks.Obtain(ctx, multi.BySlot(client, redislock.Set{Write: []string{"order:7", "stock:9"}}), 10*time.Second, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
		Wait:          10 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("waiting:", waiting.Load())
	fmt.Println(lock.Release(ctx))
	// Output:
	// waiting: 0
	// <nil>
}

// The keys of all parts: those to be written first, then those to be read, both by place and then by slot.
func ExampleLock_Keys() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := multi.Obtain(ctx, multi.BySlot(client, redislock.Set{Write: []string{"order:7", "stock:9"}, Read: []string{"price:9"}}), 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	fmt.Println(lock.Keys())
	// Output: [stock:9 order:7 price:9]
}

// The work is done, and for a minute nobody is to begin it anew.
func ExampleLock_Leave() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()
	parts := multi.BySlot(client, redislock.Set{Write: []string{"order:7", "stock:9"}})
	lock, err := multi.Obtain(ctx, parts, 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.Leave(ctx, time.Minute))

	_, err = multi.Obtain(ctx, parts, 10*time.Second, nil)
	var conflict *redislock.ConflictError
	fmt.Println("left:", errors.As(err, &conflict) && conflict.Left)
	// Output:
	// <nil>
	// left: true
}
