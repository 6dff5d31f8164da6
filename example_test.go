package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// startRedis starts a server inside the test, and a client for it; stop ends both.
var startRedis = redistest.ForExample

// Both keys or none, held as long as the function runs.
func Example() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb) // rdb: a *redis.Client, *redis.ClusterClient or *redis.Ring
	defer client.Close()

	err := client.With(ctx, []string{"order:7", "stock:9"}, 10*time.Second, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(50*time.Millisecond), 20),
		Metadata:      redislock.InstanceMetadata(), // whoever is refused reads it
	}, func(ctx context.Context) error {
		fmt.Println("order and stock are ours")
		return ctx.Err() // it is cancelled if the lock is lost
	})
	if err != nil {
		fmt.Println(err) // redislock: "stock:9" is write-locked by host=web-3 pid=812 …, 27.1s left
	}
	// Output: order and stock are ours
}

func ExampleNew() {
	rdb, stop := startRedis()
	defer stop()

	client := redislock.New(rdb, redislock.WithMaxKeys(2))
	defer client.Close()

	_, err := client.Obtain(context.Background(), []string{"a", "b", "c"}, time.Second, nil)
	fmt.Println(errors.Is(err, redislock.ErrInvalidKeys))
	// Output: true
}

func ExampleObtain() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.Obtain(ctx, rdb, []string{"report:daily"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.Keys())
	fmt.Println(lock.Release(ctx))
	// Output:
	// [report:daily]
	// <nil>
}

func ExampleClient_Obtain() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.Obtain(ctx, []string{"order:7", "stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Obtain(ctx, []string{"stock:9", "account:3"}, time.Minute, nil)
	fmt.Println("second:", errors.Is(err, redislock.ErrNotObtained))
	fmt.Println("account:3 exists:", rdb.Exists(ctx, "account:3").Val() == 1)
	fmt.Println("release:", lock.Release(ctx))
	// Output:
	// second: true
	// account:3 exists: false
	// release: <nil>
}

func ExampleClient_ObtainRead() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	for range 2 {
		lock, err := client.ObtainRead(ctx, []string{"price:9"}, time.Minute, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer lock.Release(ctx)
		fmt.Println("reading")
	}
	_, err := client.Obtain(ctx, []string{"price:9"}, time.Minute, nil)
	fmt.Println("writing:", err == nil)
	// Output:
	// reading
	// reading
	// writing: false
}

// A write lock on the stock and a read lock on its price, in one step.
func ExampleClient_ObtainMixed() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.ObtainMixed(ctx, []string{"stock:9"}, []string{"price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	_, err = client.ObtainRead(ctx, []string{"price:9"}, time.Minute, nil)
	fmt.Println("another reads the price:", err == nil)
	_, err = client.ObtainRead(ctx, []string{"stock:9"}, time.Minute, nil)
	fmt.Println("another reads the stock:", err == nil)
	// Output:
	// another reads the price: true
	// another reads the stock: false
}

// What With tells if the lock is lost while the function runs.
func ExampleClient_With() {
	rdb, stop := startRedis()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	errHalfway := errors.New("stopped half-way")
	keys := []string{"stock:9"}
	err := client.With(context.Background(), keys, time.Second, nil, func(ctx context.Context) error {
		rdb.Del(ctx, "stock:9") // somebody meddles
		<-ctx.Done()            // the next renewal finds out
		return errHalfway
	})
	fmt.Println("not obtained:", errors.Is(err, redislock.ErrNotObtained))
	fmt.Println("lost:", errors.Is(err, redislock.ErrLockLost))
	fmt.Println("of the function:", errors.Is(err, errHalfway))
	// Output:
	// not obtained: false
	// lost: true
	// of the function: true
}

func ExampleClient_Inspect() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.Obtain(ctx, []string{"order:7"}, time.Minute, &redislock.Options{Metadata: "job=import"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	states, err := client.Inspect(ctx, "order:7", "stock:9")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, state := range states {
		fmt.Println(state.Key, state.Mode)
		for _, holder := range state.Holders {
			fmt.Println(" ", holder.Metadata)
		}
	}
	// Output:
	// order:7 write
	//   job=import
	// stock:9 free
}

// A lock is obtained here and released elsewhere, by whoever was given the token.
func ExampleClient_Attach() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	keys := []string{"upload:5"}
	lock, err := redislock.New(rdb).Obtain(ctx, keys, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	token := lock.Token() // hand it over in secret: it is all that is needed

	elsewhere := redislock.New(rdb).Attach(keys, token)
	fmt.Println(elsewhere.Release(ctx))
	fmt.Println(errors.Is(lock.Release(ctx), redislock.ErrLockNotHeld))
	// Output:
	// <nil>
	// true
}

func ExampleInstanceMetadata() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.Obtain(ctx, rdb, []string{"stock:9"}, time.Minute, &redislock.Options{
		Metadata: redislock.InstanceMetadata(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	value := rdb.Get(ctx, "stock:9").Val() // what redis-cli GET shows: token|metadata
	_, metadata, _ := strings.Cut(value, "|")
	for field := range strings.FieldsSeq(metadata) {
		name, _, _ := strings.Cut(field, "=")
		fmt.Println(name)
	}
	// Output:
	// host
	// pid
	// prog
	// since
}

func ExampleConflictError() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	holder, err := client.Obtain(ctx, []string{"stock:9"}, time.Hour, &redislock.Options{Metadata: "job=import"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer holder.Release(ctx)

	_, err = client.Obtain(ctx, []string{"order:7", "stock:9"}, time.Minute, nil)
	var conflict *redislock.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(conflict.Key, conflict.Mode, conflict.Metadata, conflict.TTL.Round(time.Minute))
	}
	// Output: stock:9 write job=import 1h0m0s
}

// A writer that waits keeps new readers out, so that it has its turn.
func ExampleOptions_intent() {
	rdb, stop := startRedis()
	defer stop()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := redislock.New(rdb)
	reader, err := client.ObtainRead(ctx, []string{"price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	written := make(chan error)
	go func() {
		written <- client.With(ctx, []string{"price:9"}, time.Minute, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond),
			Metadata:      "job=repricing",
			Intent:        true,
		}, func(context.Context) error { return nil })
	}()

	var conflict *redislock.ConflictError
	for conflict == nil && ctx.Err() == nil { // readers are let in until the writer has asked once
		late, err := client.ObtainRead(ctx, []string{"price:9"}, time.Minute, nil)
		if !errors.As(err, &conflict) && err == nil {
			_ = late.Release(ctx)
		}
	}
	if conflict != nil {
		fmt.Println("late reader:", conflict.Mode, conflict.Metadata)
	}
	fmt.Println("early reader:", reader.Release(ctx))
	fmt.Println("writer:", <-written)
	// Output:
	// late reader: intent job=repricing
	// early reader: <nil>
	// writer: <nil>
}
