// A program that uses go-redis.
package main

import (
	"context"

	"github.com/seed-14de3678/redislock/proof/benchmarks/weigh/small"
)

func main() {
	rdb := small.Use(context.Background())
	small.Check(rdb.Close())
}
