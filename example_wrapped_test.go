package redislock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// shop is a client of one service among several: its keys have a prefix.
type shop struct{ *redis.Client }

func (s shop) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return s.Client.Eval(ctx, script, s.prefixed(keys), args...)
}

func (s shop) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return s.Client.EvalSha(ctx, sha, s.prefixed(keys), args...)
}

func (shop) prefixed(keys []string) []string {
	prefixed := make([]string, len(keys))
	for i, key := range keys {
		prefixed[i] = "shop:" + key
	}
	return prefixed
}

// All keys go through the wrapper. What it wraps is used for the channels of the line.
func ExampleWithWrapped() {
	rdb, stop := startRedis()
	defer stop()

	ctx := context.Background()
	client := redislock.New(shop{rdb}, redislock.WithWrapped(rdb))
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"order:7"}, 10*time.Second, &redislock.Options{Queue: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)
	fmt.Println(rdb.Keys(ctx, "*").Val())
	// Output: [shop:order:7]
}
