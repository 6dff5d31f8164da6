package survey_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// oddKeys are names that are easily taken apart wrongly, or not put together again.
var oddKeys = []string{
	"plain", "with space", "with\nnewline", "\x1b[31mred", "{tag}x", "x{tag}", "a}b", "}", "a{b", "{}x}", "ключ", "鍵", "\xff\x00", "star*", "redislock:mine",
	"redislock:line:{", `back\slash`,
}

// plant puts something of each kind into Redis for a Client: locks in all forms, and somebody who waits for a free key. It
// returns the keys that are to be found; of own tokens only those with something beside them.
func plant(t *testing.T, rdb redis.UniversalClient, prefix string) (want []string) {
	t.Helper()
	client := redislock.New(rdb)
	if prefix != "" {
		client = redislock.New(rdb, redislock.WithKeyPrefix(prefix))
	}
	t.Cleanup(client.Close)
	ctx := t.Context()
	obtain := func(key string, opt redislock.Options) *redislock.Lock {
		want = append(want, key)
		opt.Metadata = "host=web-3"
		return check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{key}, time.Hour, &opt))
	}
	for _, key := range oddKeys {
		obtain(key, redislock.Options{})
		read := "read" + key
		for range 3 {
			check.Must[*redislock.Lock](t)(client.ObtainRead(ctx, []string{read}, time.Hour, nil))
		}
		want = append(want, read, "waited"+key)
		wait(t, rdb, prefix+"waited"+key)
	}
	check.NoError(t, obtain("left", redislock.Options{}).Leave(ctx, time.Hour))
	wait(t, rdb, prefix+"left")
	own := &redislock.Options{Metadata: "host=web-3", Fenced: true}
	check.Must[*redislock.Lock](t)(client.As("me").Obtain(ctx, []string{"own token, fenced"}, time.Hour, own))
	reader := check.Must[*redislock.Lock](t)(client.ObtainRead(ctx, []string{"left by its reader"}, time.Hour, nil))
	check.NoError(t, reader.Leave(ctx, time.Hour))
	token := owners.NewToken()
	check.NoError(t, rdb.Set(ctx, slot.Beside("intent", prefix+"intended"), token+"|writer", time.Hour).Err())
	freed := obtain("freed", redislock.Options{Fenced: true})
	check.NoError(t, freed.Release(ctx))
	want = slices.DeleteFunc(append(want, "own token, fenced", "left by its reader", "intended"), func(key string) bool { return key == "freed" })
	return want
}

// wait puts somebody into the line of a key who has gone, as there may be for a while.
func wait(t *testing.T, rdb redis.UniversalClient, name string) {
	t.Helper()
	line := slot.Beside("line", name)
	entry := fmt.Sprintf("%s|%d|wp--|30000|1|0|0|%s|host=web-4", owners.NewID(), time.Now().Add(time.Hour).UnixMilli(), owners.NewToken())
	check.NoError(t, rdb.ZAdd(t.Context(), line, redis.Z{Score: float64(time.Now().UnixMicro()), Member: entry}).Err())
	check.NoError(t, rdb.Expire(t.Context(), line, time.Hour).Err())
}

const megabyte = 1 << 20

// foreign puts data of every type under names that begin so, half of it with a TTL, and some that nearly looks like a lock.
// It returns how many keys there are.
func foreign(t *testing.T, rdb redis.UniversalClient, prefix string) (n int) {
	t.Helper()
	ctx, big := t.Context(), strings.Repeat("x", megabyte)
	token, end := owners.NewToken(), time.Now().Add(time.Hour)
	later := float64(end.UnixMilli())
	for name, put := range map[string]func(key string) redis.Cmder{
		"string": func(key string) redis.Cmder { return rdb.Set(ctx, key, big, 0) },
		"json":   func(key string) redis.Cmder { return rdb.Set(ctx, key, `{"a": "b"}`+big, 0) },
		"list":   func(key string) redis.Cmder { return rdb.RPush(ctx, key, big, "x") },
		"set":    func(key string) redis.Cmder { return rdb.SAdd(ctx, key, big, "x") },
		"hash":   func(key string) redis.Cmder { return rdb.HSet(ctx, key, "f", big) },
		"stream": func(key string) redis.Cmder {
			return rdb.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"f", big}})
		},
		"zset":              func(key string) redis.Cmder { return rdb.ZAdd(ctx, key, redis.Z{Score: 1, Member: big}) },
		"zset of some time": func(key string) redis.Cmder { return rdb.ZAdd(ctx, key, redis.Z{Score: later, Member: big}) },
		"zset of sessions": func(key string) redis.Cmder {
			return rdb.ZAdd(ctx, key, redis.Z{Score: later + 5000, Member: token}, redis.Z{Score: 1, Member: big})
		},
		"token and data": func(key string) redis.Cmder { return rdb.Set(ctx, key, token+"|"+big, 0) },
	} {
		for _, ttl := range []bool{true, false} {
			key := fmt.Sprintf("%s%s %t", prefix, name, ttl)
			check.NoError(t, put(key).Err())
			if ttl {
				check.NoError(t, rdb.PExpireAt(ctx, key, end).Err())
			}
			n++
		}
	}
	check.NoError(t, rdb.Set(ctx, prefix+"token without a TTL", token, 0).Err())
	return n + 1
}

// others are the kinds of keys that programs have beside their locks.
var others = map[string]func(ctx context.Context, p redis.Pipeliner, i int, name string){
	"strings": func(ctx context.Context, p redis.Pipeliner, _ int, name string) {
		p.Set(ctx, name, "some data of a program", 0)
	},
	"strings with a TTL": func(ctx context.Context, p redis.Pipeliner, _ int, name string) {
		p.Set(ctx, name, "some data of a program", time.Hour)
	},
	"locks": func(ctx context.Context, p redis.Pipeliner, i int, name string) {
		p.Set(ctx, name, fmt.Sprintf("%021dA|host=web-3 pid=%d prog=shop", i, i), time.Hour)
	},
	"hashes": func(ctx context.Context, p redis.Pipeliner, _ int, name string) { p.HSet(ctx, name, "field", "value") },
	"hashes with a TTL": func(ctx context.Context, p redis.Pipeliner, _ int, name string) {
		p.HSet(ctx, name, "field", "value")
		p.Expire(ctx, name, time.Hour)
	},
}

// crowd puts keys of these kinds into a server, of each the same number.
func crowd(tb testing.TB, rdb *redis.Client, n int, kinds []string) {
	tb.Helper()
	ctx := context.Background()
	for from := 0; from < n; from += 1000 {
		p := rdb.Pipeline()
		for i := from; i < min(n, from+1000); i++ {
			others[kinds[i%len(kinds)]](ctx, p, i, fmt.Sprintf("app:user:%d", i))
		}
		if _, err := p.Exec(ctx); err != nil {
			tb.Fatal(err)
		}
	}
}
