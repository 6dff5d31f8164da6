package peers

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// FreeScript is how one frees a key without a library.
var FreeScript = redis.NewScript(
	`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

// raw is what one writes with go-redis alone: SET NX PX until it succeeds, then a script that
// compares and deletes.
func raw(server *measure.Server) Peer {
	rdb := server.Client()
	set := func(ctx context.Context, key, token string) (bool, error) {
		err := rdb.SetArgs(ctx, key, token, redis.SetArgs{Mode: "NX", TTL: TTL}).Err()
		refused, err := refusal(err, redis.Nil)
		return !refused, err
	}
	return Peer{
		Name: NameRaw,
		Cycle: func(ctx context.Context, key string) error {
			token := rand.Text()
			for {
				got, err := set(ctx, key, token)
				if err != nil {
					return err
				}
				if got {
					break
				}
				time.Sleep(Interval)
			}
			return FreeScript.Run(ctx, rdb, []string{key}, token).Err()
		},
		Try: func(ctx context.Context, key string) (bool, error) {
			got, err := set(ctx, key, rand.Text())
			return !got, err
		},
	}
}
