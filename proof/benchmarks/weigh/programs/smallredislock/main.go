// The same with this library.
package main

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock"

	"github.com/seed-14de3678/redislock/proof/benchmarks/weigh/small"
)

func main() {
	ctx := context.Background()
	rdb := small.Use(ctx)
	client := redislock.New(rdb)
	lock, err := client.Obtain(ctx, []string{"lock:stock:9"}, time.Second, nil)
	small.Check(err)
	small.Check(lock.Release(ctx))
	small.Check(client.With(ctx, []string{"lock:stock:9"}, time.Second, nil, func(context.Context) error { return nil }))
	client.Close()
	small.Check(rdb.Close())
}
