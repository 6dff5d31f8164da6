// The same with bsm/redislock.
package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"

	"github.com/seed-14de3678/redislock/proof/benchmarks/weigh/large"
)

func main() {
	ctx := context.Background()
	rdb := large.Use(ctx)
	lock, err := redislock.New(rdb).Obtain(ctx, "lock:stock:9", time.Second, nil)
	large.Check(err)
	large.Check(lock.Release(ctx))
	large.Check(rdb.Close())
}
