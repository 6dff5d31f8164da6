// The same with this library.
package main

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock"

	"github.com/seed-14de3678/redislock/proof/benchmarks/weigh/large"
)

func main() {
	ctx := context.Background()
	rdb := large.Use(ctx)
	client := redislock.New(rdb)
	lock, err := client.Obtain(ctx, []string{"lock:stock:9"}, time.Second, nil)
	large.Check(err)
	large.Check(lock.Release(ctx))
	large.Check(client.With(ctx, []string{"lock:stock:9"}, time.Second, nil, func(context.Context) error { return nil }))
	client.Close()
	large.Check(rdb.Close())
}
