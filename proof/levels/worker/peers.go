package main

import (
	"context"
	"crypto/rand"
	"errors"

	bsm "github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// free is how one frees a key without a library.
var free = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

// rawTurn is what one writes with go-redis alone: it takes a key and frees it.
func rawTurn(ctx context.Context, rdb *redis.Client, key string) error {
	token := rand.Text()
	if err := rdb.SetArgs(ctx, key, token, redis.SetArgs{Mode: "NX", TTL: ttl}).Err(); err != nil {
		return err
	}
	if n, err := free.Run(ctx, rdb, []string{key}, token).Int(); err != nil || n != 1 {
		return errors.Join(errNotFreed, err)
	}
	return nil
}

// errNotFreed is the error if the key was not there any more.
var errNotFreed = errors.New("the key was not freed")

// bsmTurn obtains a key by bsm/redislock, and releases it.
func bsmTurn(ctx context.Context, client *bsm.Client, key string) error {
	held, err := client.Obtain(ctx, key, ttl, nil)
	if err != nil {
		return err
	}
	return held.Release(ctx)
}
