package wire

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// A client that embeds a nil client, and has its own Eval, is asked for nothing else.
func TestPoolsOfNil(t *testing.T) {
	t.Parallel()
	type fake struct{ redis.UniversalClient }
	if known := pools(fake{}, nil); known != nil {
		t.Error("it counts as one that says what its pool does")
	}
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	if known := pools(fake{rdb}, nil); known == nil {
		t.Error("it says what its pool does")
	}
}
