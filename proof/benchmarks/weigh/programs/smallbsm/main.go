// The same with bsm/redislock.
package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"

	"github.com/seed-14de3678/redislock/proof/benchmarks/weigh/small"
)

func main() {
	ctx := context.Background()
	rdb := small.Use(ctx)
	lock, err := redislock.New(rdb).Obtain(ctx, "lock:stock:9", time.Second, nil)
	small.Check(err)
	small.Check(lock.Release(ctx))
	small.Check(rdb.Close())
}
