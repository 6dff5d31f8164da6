package reentrant_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/reentrant"
)

// A Client without a Redis client returns an error, and the owner holds nothing of it.
func TestClientWithoutRedis(t *testing.T) {
	t.Parallel()
	for want, client := range map[string]*redislock.Client{
		"the Client is nil":              nil,
		"the Client was not made by New": new(redislock.Client),
		"New was given no Redis client":  redislock.New(nil),
	} {
		ctx, keys := reentrant.NewOwner(t.Context()), []string{"k"}
		for range 2 {
			_, err := reentrant.Obtain(ctx, client, keys, long, nil)
			_, readErr := reentrant.ObtainRead(ctx, client, keys, long, nil)
			_, mixedErr := reentrant.ObtainSet(ctx, client, redislock.Set{Write: keys}, long, nil)
			withErr := reentrant.With(ctx, client, keys, long, nil, func(context.Context) error { return nil })
			for _, err := range []error{err, readErr, mixedErr, withErr} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got error %v, want one that says %s", err, want)
				}
			}
		}
	}
}
