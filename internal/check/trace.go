package check

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// places is behind every place in a line: what has a greater score there is a guard.
const places = 1 << 52

// WithoutGuards returns the keys that exist and are not lines of guards alone. Such a line stays for some minutes after
// a request that was not answered. Where nothing has failed there is none.
func WithoutGuards(ctx context.Context, rdb redis.Cmdable, keys ...string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		if !strings.Contains(key, "redislock:line") {
			return rdb.Exists(ctx, key).Val() == 0
		}
		waiters, err := rdb.ZCount(ctx, key, "-inf", "("+strconv.Itoa(places)).Result()
		return err == nil && waiters == 0
	})
}

// Guards counts the guards in a line.
func Guards(ctx context.Context, rdb redis.Cmdable, line string) int64 {
	return rdb.ZCount(ctx, line, strconv.Itoa(places), "+inf").Val()
}
