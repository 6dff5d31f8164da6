// A program that uses go-redis.
package main

import (
	"context"

	"github.com/seed-14de3678/redislock/proof/benchmarks/weigh/large"
)

func main() {
	rdb := large.Use(context.Background())
	large.Check(rdb.Close())
}
