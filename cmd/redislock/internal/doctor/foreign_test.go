package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Keys that nobody can lock are found where all should be locks, and where somebody wants to lock them.
func TestForeign(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	ctx := t.Context()
	check.NoError(t, rdb.HSet(ctx, "lock:hash", "field", "value").Err())
	check.NoError(t, rdb.Set(ctx, "lock:text", "17", 0).Err())
	check.NoError(t, rdb.RPush(ctx, "lock:list", "17").Err())
	check.NoError(t, rdb.Expire(ctx, "lock:list", time.Hour).Err())
	check.NoError(t, rdb.Set(ctx, "lock:own", "a token of its own", time.Hour).Err())
	check.NoError(t, rdb.Set(ctx, "lock:endless", token, 0).Err()) // of a lock, which the check lifetimes tells
	check.NoError(t, rdb.HSet(ctx, "lock:redisson", "01234567-89ab-cdef-0123-456789abcdef:1", 1).Err())
	check.NoError(t, rdb.HSet(ctx, "data", "field", "value").Err())
	const text = "3 keys are foreign: lock:hash, lock:list, lock:text"
	want(t, examined(t, rdb, "foreign", prefixed), Fault, text)
	want(t, examined(t, rdb, "foreign", func(p *patient) { p.opts.pattern = "lock:*" }), Fault, text)
	want(t, examined(t, rdb, "foreign", elsewhere), OK, "no key there is foreign")
	want(t, examined(t, rdb, "foreign"), OK, "--prefix or PATTERN finds more")

	check.NoError(t, rdb.ZAdd(ctx, "redislock:line:{data}", redis.Z{Member: "entry"}).Err())
	found := examined(t, rdb, "foreign", func(p *patient) { p.opts.redis.URL = "cache-1" })
	want(t, found, Fault, "1 key is foreign: data")
	if len(found) != 1 || !strings.Contains(found[0].Mend, "redislock show --redis cache-1 KEY says") {
		t.Errorf("no command for this server in %s", list(found))
	}
}
