package fencing_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// runs gives each run of a test a number: the shared servers keep what it leaves.
var runs atomic.Int64

// scenario runs fn on every kind of server, with a key that no other scenario uses.
func scenario(t *testing.T, fn func(t *testing.T, rdb *redis.Client, key string)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		fn(t, b.Client(t), fmt.Sprintf("%s#%d", t.Name(), runs.Add(1)))
	})
}

// A fenced is what Get returns.
type fenced struct {
	Value  string
	Number int64
}

// wantGet reports a key that holds anything else.
func wantGet(t *testing.T, rdb *redis.Client, key string, want fenced) {
	t.Helper()
	value, number, err := fencing.Get(t.Context(), rdb, key)
	if err != nil {
		t.Errorf("get: unexpected error: %v", err)
	}
	if diff := cmp.Diff(want, fenced{value, number}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSet(t *testing.T) {
	scenario(t, func(t *testing.T, rdb *redis.Client, key string) {
		ctx := t.Context()
		_, _, err := fencing.Get(ctx, rdb, key)
		wantIs(t, err, redis.Nil)

		wantIs(t, fencing.Set(ctx, rdb, key, base, "first", time.Minute), nil)
		wantGet(t, rdb, key, fenced{"first", base})
		wantIs(t, fencing.Set(ctx, rdb, key, base, "again", time.Minute), nil) // the same holder
		wantGet(t, rdb, key, fenced{"again", base})
		wantIs(t, fencing.Set(ctx, rdb, key, base+1, 42, time.Minute), nil)
		wantGet(t, rdb, key, fenced{"42", base + 1})

		err = fencing.Set(ctx, rdb, key, base, "late", time.Hour)
		wantStale(t, err, fencing.StaleError{Resource: key, Number: base, Newest: base + 1})
		wantGet(t, rdb, key, fenced{"42", base + 1})
		if left := rdb.PTTL(ctx, key).Val(); left > time.Minute {
			t.Errorf("a stale write made the ttl %v", left)
		}
		want := map[string]string{"fence": fmt.Sprint(base + 1), "value": "42"}
		if diff := cmp.Diff(want, rdb.HGetAll(ctx, key).Val()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if rdb.Exists(ctx, "").Val() != 0 {
			t.Error("the key without a name is there")
		}
	})
}

func TestSetComparesNumbers(t *testing.T) {
	for _, c := range []struct {
		held, number int64
		stale        bool
	}{
		{9, 10, false},
		{10, 9, true},
		{999, 1_000_000_000_000_000, false},
		{base, base + 1, false},
		{base + 1, base, true},
		{1<<53 - 2, 1<<53 - 1, false},
		{1<<53 - 1, 1<<53 - 2, true},
		{1<<53 - 1, 1<<53 - 1, false},
	} {
		t.Run(fmt.Sprintf("%d then %d", c.held, c.number), func(t *testing.T) {
			scenario(t, func(t *testing.T, rdb *redis.Client, key string) {
				wantIs(t, fencing.Set(t.Context(), rdb, key, c.held, "held", 0), nil)
				err := fencing.Set(t.Context(), rdb, key, c.number, "new", 0)
				if c.stale {
					wantStale(t, err, fencing.StaleError{Resource: key, Number: c.number, Newest: c.held})
					wantGet(t, rdb, key, fenced{"held", c.held})
					return
				}
				wantIs(t, err, nil)
				wantGet(t, rdb, key, fenced{"new", c.number})
			})
		})
	}
}

func TestSetValues(t *testing.T) {
	scenario(t, func(t *testing.T, rdb *redis.Client, key string) {
		big := strings.Repeat("x", 1<<20)
		for i, c := range []struct {
			value any
			want  string
		}{{"", ""}, {"\x00\r\n\xff$1|", "\x00\r\n\xff$1|"}, {[]byte("bytes"), "bytes"}, {int64(base), fmt.Sprint(base)}, {true, "1"}, {big, big}} {
			number := base + int64(i)
			wantIs(t, fencing.Set(t.Context(), rdb, key, number, c.value, time.Minute), nil)
			wantGet(t, rdb, key, fenced{c.want, number})
		}
	})
}

func TestSetTTL(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	scenario(t, func(t *testing.T, rdb *redis.Client, key string) {
		for _, c := range []struct{ ttl, least, most time.Duration }{ // least and most of PTTL; -1: none
			{time.Minute, 50 * time.Second, time.Minute},
			{time.Hour, 59 * time.Minute, time.Hour},
			{0, -1, -1},
			{0, -1, -1},
			{30*time.Second + 1, 20 * time.Second, 30*time.Second + time.Millisecond},
			{century, century - time.Minute, century},
		} {
			wantIs(t, fencing.Set(t.Context(), rdb, key, base, "value", c.ttl), nil)
			got := rdb.PTTL(t.Context(), key).Val()
			if got < c.least || got > c.most {
				t.Errorf("ttl %v: got %v", c.ttl, got)
			}
		}
		// Value and number go together.
		wantIs(t, fencing.Set(t.Context(), rdb, key, base, "value", 1), nil)
		time.Sleep(20 * time.Millisecond)
		_, _, err := fencing.Get(t.Context(), rdb, key)
		wantIs(t, err, redis.Nil)
		wantIs(t, fencing.Set(t.Context(), rdb, key, 1, "value", time.Minute), nil)
	})
}

func TestSetRefusesBeforeItSends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		number int64
		ttl    time.Duration
		want   error // nil: any
	}{
		"zero":      {0, time.Minute, fencing.ErrInvalidNumber},
		"negative":  {-1, time.Minute, fencing.ErrInvalidNumber},
		"not exact": {1 << 53, time.Minute, fencing.ErrInvalidNumber},
		"ttl":       {base, -time.Second, nil},
		"keep ttl":  {base, redis.KeepTTL, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var nowhere redis.Scripter
			err := fencing.Set(t.Context(), nowhere, "key", c.number, "value", c.ttl)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
		})
	}
}

// A server that cannot answer is not asked.
func TestSetWithoutRedis(t *testing.T) {
	t.Parallel()
	var none *redis.Client
	pipe := redistest.StartMini(t).Client(t).Pipeline()
	for want, rdb := range map[string]redis.Cmdable{"there is no Redis client": none, "come at its Exec": pipe} {
		err := fencing.Set(t.Context(), rdb, "key", base, "value", time.Minute)
		_, _, getErr := fencing.Get(t.Context(), rdb, "key")
		for _, err := range []error{err, getErr} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one that says %s", err, want)
			}
		}
	}
	if err := fencing.Set(t.Context(), nil, "key", base, "value", time.Minute); err == nil {
		t.Error("got no error without a client")
	}
	if _, _, err := fencing.Get(t.Context(), nil, "key"); err == nil || pipe.Len() != 0 {
		t.Errorf("got error %v without a client, and %d commands in the pipeline", err, pipe.Len())
	}
}

func TestForeignKeys(t *testing.T) {
	for name, command := range map[string][]any{
		"string":          {"set", "%", "1"},
		"list":            {"rpush", "%", "fence", "value"},
		"set":             {"sadd", "%", "fence", "value"},
		"zset":            {"zadd", "%", 1, "fence"},
		"stream":          {"xadd", "%", "*", "fence", "1"},
		"other hash":      {"hset", "%", "name", "x", "price", "1"},
		"more fields":     {"hset", "%", "fence", "1", "value", "x", "name", "y"},
		"no value":        {"hset", "%", "fence", "1"},
		"no number":       {"hset", "%", "value", "x"},
		"pair, no value":  {"hset", "%", "fence", "1", "price", "x"},
		"pair, no number": {"hset", "%", "value", "x", "price", "1"},
		"text for number": {"hset", "%", "fence", "wood", "value", "x"},
		"hex for number":  {"hset", "%", "fence", "0x1", "value", "x"},
		"zero":            {"hset", "%", "fence", "0", "value", "x"},
		"not exact":       {"hset", "%", "fence", "9007199254740992", "value", "x"},
		"too great":       {"hset", "%", "fence", strings.Repeat("9", 400), "value", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t, func(t *testing.T, rdb *redis.Client, key string) {
				ctx := t.Context()
				args := slices.Clone(command)
				args[1] = key
				wantIs(t, rdb.Do(ctx, args...).Err(), nil)
				before := rdb.Dump(ctx, key).Val()

				err := fencing.Set(ctx, rdb, key, 1<<53-1, "value", time.Minute)
				wantIs(t, err, fencing.ErrForeign)
				if want := "it is a " + rdb.Type(ctx, key).Val(); err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
				_, _, err = fencing.Get(ctx, rdb, key)
				wantIs(t, err, fencing.ErrForeign)

				if after := rdb.Dump(ctx, key).Val(); after != before {
					t.Errorf("the key was %q and is %q", before, after)
				}
				if ttl := rdb.PTTL(ctx, key).Val(); ttl != -1 {
					t.Errorf("the key was given a ttl: %v", ttl)
				}
			})
		})
	}
}

// Many writers: in whatever order they come, the greatest number wins, and no reader sees the number go back.
func TestSetHammer(t *testing.T) {
	scenario(t, func(t *testing.T, rdb *redis.Client, key string) {
		const goroutines, calls = 8, 50
		var wg sync.WaitGroup
		var greatest atomic.Int64
		for range goroutines {
			wg.Go(func() {
				last := int64(0)
				for range calls {
					number := base + rand.Int64N(1<<40)
					for seen := greatest.Load(); number > seen && !greatest.CompareAndSwap(seen, number); {
						seen = greatest.Load()
					}
					err := fencing.Set(t.Context(), rdb, key, number, number, time.Minute)
					if err != nil && !errors.Is(err, fencing.ErrStale) {
						t.Error(err)
					}
					value, got, err := fencing.Get(t.Context(), rdb, key)
					if err != nil || value != fmt.Sprint(got) || got < last || got < number {
						t.Errorf("after %d and %d: got %q, %d, %v", last, number, value, got, err)
					}
					last = got
				}
			})
		}
		wg.Wait()
		wantGet(t, rdb, key, fenced{fmt.Sprint(greatest.Load()), greatest.Load()})
	})
}

// A script that fails when it has written a part would leave a value without its ttl, or a ttl without its
// value.
func TestSetChangesAllOrNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	admin := server.Client(t)
	ctx := t.Context()
	user := server.Client(t, func(o *redis.Options) { o.Username, o.Password = "app", "secret" })
	do := func(args ...any) {
		t.Helper()
		wantIs(t, admin.Do(ctx, args...).Err(), nil)
	}
	rights := []any{"+eval", "+evalsha", "+hexists", "+hget", "+hlen", "+hset", "+persist", "+pexpire", "+set", "+type", "+hgetall"}
	do(append([]any{"acl", "setuser", "app", "reset", "on", ">secret", "~*", "-@all"}, rights...)...)

	unchanged := func(t *testing.T, ttl time.Duration) {
		t.Helper()
		if err := fencing.Set(ctx, user, "new", base, "value", ttl); err == nil {
			t.Errorf("new key, ttl %v: no error", ttl)
		}
		if admin.Exists(ctx, "new").Val() != 0 {
			t.Errorf("new key, ttl %v: it is there", ttl)
		}
		if err := fencing.Set(ctx, user, "old", base+1, "new", ttl); err == nil {
			t.Errorf("old key, ttl %v: no error", ttl)
		}
		wantGet(t, admin, "old", fenced{"old", base})
		if left := admin.TTL(ctx, "old").Val(); left < 59*time.Minute {
			t.Errorf("old key, ttl %v: it has %v left", ttl, left)
		}
	}
	wantIs(t, fencing.Set(ctx, user, "old", base, "old", time.Hour), nil)
	for _, right := range []string{"hset", "pexpire"} {
		do("acl", "setuser", "app", "-"+right)
		unchanged(t, time.Minute)
		do("acl", "setuser", "app", "+"+right)
	}
	do("config", "set", "maxmemory", "1")
	unchanged(t, time.Minute)
	unchanged(t, 0)
	do("config", "set", "maxmemory", "0")

	for _, key := range []string{"new", "old"} {
		wantIs(t, fencing.Set(ctx, user, key, base+1, "value", time.Minute), nil)
		wantIs(t, fencing.Set(ctx, user, key, base+2, "value", 0), nil)
		wantGet(t, user, key, fenced{"value", base + 2})
	}
	_ = admin.ScriptFlush(ctx).Err()
	wantIs(t, fencing.Set(ctx, user, "new", base+3, "value", 0), nil)
}

// An error that says nothing about the value is none of the package's.
func TestSetPassesErrorsOn(t *testing.T) {
	scenario(t, func(t *testing.T, rdb *redis.Client, key string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantIs(t, fencing.Set(ctx, rdb, key, base, "value", time.Minute), context.Canceled)
		_, _, err := fencing.Get(ctx, rdb, key)
		wantIs(t, err, context.Canceled)
	})
}

// DESIGN section 11: panic at start under GODEBUG=fips140=only (SHA-1 in package init).
func TestFIPSOnly(t *testing.T) {
	t.Parallel()
	out, err := redistest.Rerun(t, []string{"GODEBUG=fips140=only"}, "-test.run=^TestSet$/redis", "-test.v")
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSet/redis") && !strings.Contains(string(out), "--- SKIP: TestSet/redis") {
		t.Errorf("under fips140=only: %v\n%s", err, out)
	}
}
