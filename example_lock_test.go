package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
)

func ExampleLock_Refresh() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.New(rdb).Obtain(ctx, []string{"report:daily"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	if err := lock.Refresh(ctx, time.Hour); err != nil {
		fmt.Println(err)
		return
	}
	left, err := lock.TTL(ctx)
	fmt.Println(left.Round(time.Minute), err)
	// Output: 1h0m0s <nil>
}

// A Release names what was lost, and frees the rest.
func ExampleLock_Release() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.New(rdb).Obtain(ctx, []string{"order:7", "stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	rdb.Del(ctx, "stock:9") // somebody meddles
	fmt.Println(lock.Release(ctx))
	fmt.Println("order:7 exists:", rdb.Exists(ctx, "order:7").Val() == 1)
	// Output:
	// redislock: release "order:7" and 1 more: lock not held: lost "stock:9"
	// order:7 exists: false
}

// The work gets a context that ends with the lock.
func ExampleLock_Context() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.New(rdb).Obtain(ctx, []string{"stock:9"}, time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	work := lock.Context(ctx)
	<-work.Done() // nobody renews the lease: it ends
	fmt.Println(errors.Is(context.Cause(work), redislock.ErrLockLost))
	// Output: true
}

// The writer is done and goes on reading; nobody writes in between.
func ExampleLock_Downgrade() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.Obtain(ctx, []string{"price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	fmt.Println(lock.Downgrade(ctx))
	_, err = client.ObtainRead(ctx, []string{"price:9"}, time.Minute, nil)
	fmt.Println("another reads:", err == nil)
	// Output:
	// <nil>
	// another reads: true
}

// The only reader may write. One among several may not, and still reads.
func ExampleLock_Upgrade() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.ObtainRead(ctx, []string{"price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)
	other, err := client.ObtainRead(ctx, []string{"price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println("refused:", errors.Is(lock.Upgrade(ctx), redislock.ErrNotObtained))
	fmt.Println(other.Release(ctx), lock.Upgrade(ctx))
	// Output:
	// refused: true
	// <nil> <nil>
}

// Of a set whose parts are done one after the other, others can go on with what is.
func ExampleLock_ReleaseKeys() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"order:7", "stock:9"}, 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	if err := lock.ReleaseKeys(ctx, "stock:9"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("still held:", lock.Keys(), "free:", rdb.Exists(ctx, "stock:9").Val() == 0)
	// Output:
	// still held: [order:7] free: true
}
