package doctor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

const token = "0123456789abcdefABCDEQ" // 22 characters of base64url

// Locks of other libraries, and keys that nobody can lock, are found under a prefix, under a pattern, and where somebody of ours
// wants the same name.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	ctx := t.Context()
	check.NoError(t, rdb.Set(ctx, "lock:bsm", token+"host=a", time.Minute).Err())
	check.NoError(t, rdb.Set(ctx, "lock:redsync", "MDEyMzQ1Njc4OWFiY2RlZg==", time.Minute).Err())
	check.NoError(t, rdb.HSet(ctx, "lock:redisson", "01234567-89ab-cdef-0123-456789abcdef:1", 1).Err())
	check.NoError(t, rdb.Set(ctx, "lock:own", "a token of its own", time.Hour).Err())
	check.NoError(t, rdb.Set(ctx, "lock:endless", token, 0).Err()) // of a lock, which the check lifetimes tells
	check.NoError(t, rdb.HSet(ctx, "lock:hash", "field", "value").Err())
	check.NoError(t, rdb.Set(ctx, "lock:text", "17", 0).Err())
	check.NoError(t, rdb.RPush(ctx, "lock:list", "17").Err())
	check.NoError(t, rdb.Expire(ctx, "lock:list", time.Hour).Err())
	check.NoError(t, rdb.HSet(ctx, "data", "field", "value").Err())
	for _, scope := range []func(*patient){prefixed, func(p *patient) { p.opts.pattern = "lock:*" }} {
		found := examined(t, rdb, "libraries", scope)
		for library, key := range map[string]string{bsm: "lock:bsm", redsync: "lock:redsync", redisson: "lock:redisson"} {
			want(t, found, Warning, "1 key that looks like a lock of "+library+": "+key)
		}
		want(t, examined(t, rdb, "foreign", scope), Fault, "3 keys are foreign: lock:hash, lock:list, lock:text")
	}
	want(t, examined(t, rdb, "libraries", elsewhere), OK, "no key")
	want(t, examined(t, rdb, "foreign", elsewhere), OK, "no key there is foreign")
	want(t, examined(t, rdb, "libraries"), OK, "no name is used by another library")
	want(t, examined(t, rdb, "foreign"), OK, "--prefix or PATTERN finds more")

	for _, key := range []string{"lock:bsm", "data"} { // in which somebody of ours stands in line
		check.NoError(t, rdb.ZAdd(ctx, "redislock:line:{"+key+"}", redis.Z{Member: "entry"}).Err())
	}
	for name, tt := range map[string]struct {
		status     Status
		text, mend string
	}{
		"libraries": {Warning, bsm + ": lock:bsm", "another prefix"},
		"foreign":   {Fault, "1 key is foreign: data", "redislock show --redis cache-1 KEY says"},
	} {
		found := examined(t, rdb, name, func(p *patient) { p.opts.redis.URL = "cache-1" })
		if want(t, found, tt.status, tt.text); len(found) != 1 || !strings.Contains(found[0].Mend, tt.mend) {
			t.Errorf("want one finding, with %q in %s", tt.mend, list(found))
		}
	}
}

// What the library stores is not taken for that of another one.
func TestOurLocksAreOurs(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	client := redislock.New(rdb, redislock.WithKeyPrefix("lock:"))
	for i, metadata := range []string{"", "host=a", "|"} {
		for _, fenced := range []bool{false, true} {
			key := fmt.Sprintf("%d %t", i, fenced)
			lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, time.Minute, &redislock.Options{Metadata: metadata, Fenced: fenced}))
			defer lock.Release(context.WithoutCancel(t.Context()))
		}
	}
	for range 2 {
		lock := check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), []string{"read"}, time.Minute, &redislock.Options{Metadata: "host=a"}))
		defer lock.Release(context.WithoutCancel(t.Context()))
	}
	want(t, examined(t, rdb, "libraries", prefixed), OK, "no key")
	want(t, examined(t, rdb, "lifetimes", prefixed), OK, "every key")

	for _, key := range []string{"lock:0 false", "lock:1 true", "lock:2 false", "lock:read"} {
		check.NoError(t, rdb.Persist(t.Context(), key).Err())
		want(t, examined(t, rdb, "lifetimes", prefixed), Fault, key)
		want(t, examined(t, rdb, "lifetimes"), Fault, key)
	}
	check.NoError(t, rdb.Persist(t.Context(), "redislock:fence:{lock:0 true}").Err())
	want(t, examined(t, rdb, "lifetimes", prefixed), Fault, "redislock:fence:{lock:0 true}")
}

// Somebody who stood in line is cut off, and the server's clock goes on.
func TestDeadWaiters(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartSkewed(t, redistest.Redis)
	rdb := server.Client(t)
	client := redislock.New(rdb, redislock.WithKeyPrefix("lock:"))
	holder := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, time.Hour, nil))
	defer holder.Release(context.WithoutCancel(t.Context()))
	relay := redistest.NewRelay(t, server.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	waiter := redislock.New(relay.Client(t), redislock.WithKeyPrefix("lock:"))
	defer waiter.Close()
	go func() {
		_, err := waiter.Obtain(ctx, []string{"a"}, time.Hour, &redislock.Options{Queue: true})
		ended <- err
	}()
	defer func() {
		cancel()
		if err := <-ended; err == nil {
			t.Error("it has got a lock that was not released")
		}
	}()
	check.Eventually(t, time.Minute, "it stands in line", func() bool {
		return has(examined(t, rdb, "lines", prefixed), OK, "in 1 line")
	})
	relay.Refuse(true)
	relay.Cut()
	clock.Shift(20 * time.Second)
	check.Eventually(t, time.Minute, "it has not asked for 15 s", func() bool {
		return has(examined(t, rdb, "lines", prefixed), Warning, "1 waiter gone in the lines of a")
	})
	relay.Refuse(false)
}

// A scan that ends early says so.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	pipe := rdb.Pipeline()
	for i := range 2000 {
		pipe.Set(t.Context(), fmt.Sprint("key:", i), "value", 0)
	}
	check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
	want(t, examined(t, rdb, "lifetimes", func(p *patient) { p.opts.keys = 1000 }), OK, "among the first 1000 of 2000 keys (--most-keys 0 looks at all of them)")
	found := examined(t, rdb, "lifetimes", func(p *patient) { p.opts.keys = 0 })
	if strings.Contains(list(found), "among the first") {
		t.Errorf("all keys were looked at: %s", list(found))
	}
}
