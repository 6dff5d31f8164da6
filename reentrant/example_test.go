package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// A function that locks what it needs is called by one that has locked it already.
func Example() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	restock := func(ctx context.Context) error {
		return reentrant.With(ctx, client, []string{"stock:9"}, 10*time.Second, nil, func(context.Context) error {
			fmt.Println("restocked")
			return nil
		})
	}
	order := func(ctx context.Context) error {
		keys := []string{"order:7", "stock:9"}
		return reentrant.With(ctx, client, keys, 10*time.Second, nil, func(ctx context.Context) error {
			fmt.Println("ordered")
			return restock(ctx)
		})
	}

	ctx := reentrant.NewOwner(context.Background()) // once for each piece of work
	fmt.Println(order(ctx))
	fmt.Println(restock(ctx))
	// Output:
	// ordered
	// restocked
	// <nil>
	// restocked
	// <nil>
}

// Each piece of work is an owner of its own.
func ExampleNewOwner() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	one, other := reentrant.NewOwner(context.Background()), reentrant.NewOwner(context.Background())
	hold, err := reentrant.Obtain(one, client, []string{"stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Release(one)

	_, err = reentrant.Obtain(other, client, []string{"stock:9"}, time.Minute, nil)
	fmt.Println("other owner:", errors.Is(err, redislock.ErrNotObtained))
	_, err = reentrant.Obtain(context.Background(), client, []string{"stock:9"}, time.Minute, nil)
	fmt.Println(err)
	// Output:
	// other owner: true
	// reentrant: obtain "stock:9": the context has no owner, see NewOwner
}

// If a part of a set is held already, only the rest is obtained. Each key is free when its last hold has ended.
func ExampleObtain() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	ctx := reentrant.NewOwner(context.Background())
	outer, err := reentrant.Obtain(ctx, client, []string{"order:7"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	inner, err := reentrant.Obtain(ctx, client, []string{"order:7", "stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(inner.Keys())
	fmt.Println("locked:", rdb.Exists(ctx, "order:7", "stock:9").Val())
	fmt.Println(inner.Release(ctx))
	fmt.Println("locked:", rdb.Exists(ctx, "order:7", "stock:9").Val())
	fmt.Println(outer.Release(ctx))
	fmt.Println("locked:", rdb.Exists(ctx, "order:7", "stock:9").Val())
	// Output:
	// [order:7 stock:9]
	// locked: 2
	// <nil>
	// locked: 1
	// <nil>
	// locked: 0
}

// An owner that reads a key may write it if nobody else reads it.
func ExampleObtainRead() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	ctx := reentrant.NewOwner(context.Background())
	reader, err := reentrant.ObtainRead(ctx, client, []string{"price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Release(ctx)
	other, err := client.ObtainRead(context.Background(), []string{"price:9"}, time.Hour, &redislock.Options{Metadata: "job=export"})
	if err != nil {
		fmt.Println(err)
		return
	}

	_, err = reentrant.Obtain(ctx, client, []string{"price:9"}, time.Minute, nil)
	var conflict *redislock.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(conflict.Key, "is in the way of", conflict.Metadata)
	}
	_ = other.Release(ctx)
	writer, err := reentrant.Obtain(ctx, client, []string{"price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("writing:", writer.Keys())
	fmt.Println(writer.Release(ctx))
	// Output:
	// price:9 is in the way of job=export
	// writing: [price:9]
	// <nil>
}

func ExampleObtainSet() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	ctx := reentrant.NewOwner(context.Background())
	outer, err := reentrant.ObtainSet(ctx, client, redislock.Set{Write: []string{"stock:9"}, Read: []string{"price:9"}}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer outer.Release(ctx)
	inner, err := reentrant.ObtainRead(ctx, client, []string{"stock:9", "price:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("reading:", inner.Keys())
	fmt.Println(inner.Release(ctx))
	// Output:
	// reading: [stock:9 price:9]
	// <nil>
}

// The function finds the hold under which it runs, and with it the number for what it writes.
func ExampleFromContext() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	restock := func(ctx context.Context) error {
		hold := reentrant.FromContext(ctx)
		fmt.Println(hold.Keys(), "has a number:", hold.Fence() > 0)
		return nil
	}
	ctx := reentrant.NewOwner(context.Background())
	err := reentrant.With(ctx, client, []string{"stock:9"}, 10*time.Second, &redislock.Options{Fenced: true}, restock)
	fmt.Println(err)
	// Output:
	// [stock:9] has a number: true
	// <nil>
}

func ExampleHold_TTL() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	ctx := reentrant.NewOwner(context.Background())
	hold, err := reentrant.Obtain(ctx, client, []string{"stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Release(ctx)

	ttl, err := hold.TTL(ctx) // by the server, where Deadline is what this process can be certain of
	fmt.Println(ttl > 50*time.Second, err)
	// Output: true <nil>
}

// A key that is held keeps the metadata with which it was obtained first. The id of the caller is that of the request, if the
// request has one.
func ExampleHold_Metadata() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	ctx := reentrant.NewOwner(redislock.WithCaller(context.Background(), "request-7"))
	hold, err := reentrant.Obtain(ctx, client, []string{"stock:9"}, time.Minute, &redislock.Options{Metadata: "job=restock"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Release(ctx)

	again, err := reentrant.Obtain(ctx, client, []string{"stock:9"}, time.Minute, &redislock.Options{Metadata: "job=count"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer again.Release(ctx)
	fmt.Println(again.Metadata(), inctx.Caller(ctx))
	// Output: job=restock request-7
}

// In a test this line follows that of the owner: defer reentrant.CheckReleased(t, ctx).
func ExampleCheckReleased() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	ctx := reentrant.NewOwner(context.Background())
	outer, err := reentrant.Obtain(ctx, client, []string{"stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := reentrant.Obtain(ctx, client, []string{"stock:9"}, time.Minute, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outer.Release(ctx))

	reentrant.CheckReleased(printer{}, ctx) // the Release of the inner one was forgotten
	// Output:
	// <nil>
	// reentrant: not released: "stock:9", obtained at example_test.go
}

// printer stands in for a *testing.T. It leaves out the number of the line, which is not the same
// each time that this file is changed.
type printer struct{}

func (printer) Helper() {}

func (printer) Errorf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Println(text[:strings.LastIndex(text, ":")])
}
