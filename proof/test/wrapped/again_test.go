package wrapped_test

import (
	"context"
	"crypto/fips140"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// resending sends the first script twice and says nothing of it, nor of its connections: what it returns is
// the answer to the second one, and the first one arrives much later.
type resending struct {
	redis.Scripter
	sent bool
	over chan error
}

func (r *resending) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if r.sent {
		return r.Scripter.EvalSha(ctx, sha, keys, args...)
	}
	r.sent = true
	time.AfterFunc(time.Minute, func() {
		r.over <- r.Scripter.EvalSha(context.WithoutCancel(ctx), sha, keys, args...).Err()
	})
	time.Sleep(10 * time.Millisecond)
	return r.Scripter.EvalSha(ctx, sha, keys, args...)
}

// A call that took so long that a wrapped client may have sent it twice is closed by the call after it.
func TestWrappedClientResends(t *testing.T) {
	t.Parallel()
	if fips140.Enforced() {
		t.Skip("under fips140=only random numbers come from the jitter of the clock, which a bubble has not")
	}
	synctest.Test(t, func(t *testing.T) {
		rdb := redistest.PipeMini(t).Client(t)
		warm := redislock.New(rdb)
		check.NoError(t, world.Cycle(t.Context(), warm, "warm"))
		warm.Close()
		r := &resending{Scripter: rdb, over: make(chan error, 1)}
		client := redislock.New(r)
		defer client.Close()
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Hour, nil))
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, <-r.over)
		if left := check.WithoutGuards(t.Context(), rdb, "k"); len(left) > 0 {
			t.Error("the key is locked, by a request that came late")
		}
	})
}
