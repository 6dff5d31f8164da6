package doctor

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// until runs work again and again, each time in one goroutine of n, until the test ends.
func until(t *testing.T, n int, work func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := work(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
}

// pollAsBSM takes a key once, if it is free, as bsm/redislock does: SET NX PX, then a script that compares and deletes.
func pollAsBSM(rdb *redis.Client, key string) func(context.Context) error {
	release := redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)
	return func(ctx context.Context) error {
		random := make([]byte, 16)
		_, _ = rand.Read(random)
		value := base64.RawURLEncoding.EncodeToString(random) + "host=old"
		err := rdb.SetArgs(ctx, key, value, redis.SetArgs{Mode: "NX", TTL: time.Hour}).Err()
		if err == redis.Nil { //nolint:errorlint // that is how go-redis returns it
			time.Sleep(time.Millisecond)
			return nil
		}
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
		return release.Run(context.WithoutCancel(ctx), rdb, []string{key}, value).Err()
	}
}

// An obtainer is a Client or an Owner.
type obtainer interface {
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (*redislock.Lock, error)
}

// queueing obtains a key in line, and releases it.
func queueing(by obtainer, key string) func(context.Context) error {
	return func(ctx context.Context) error {
		lock, err := by.Obtain(ctx, []string{key}, time.Hour, &redislock.Options{Queue: true})
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
		return lock.Release(context.WithoutCancel(ctx))
	}
}

// watching has the doctor watch lines for so long.
func watching(span time.Duration) func(*patient) { return func(p *patient) { p.opts.watch = span } }

// The doctor finds the line that foreign pollers pass, and no other: neither one in which all stand, nor a key without a line.
func TestStarved(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	// Each stands in Redis by itself, as the waiters of several processes do.
	process := func() *redislock.Client {
		client := redislock.New(rdb)
		t.Cleanup(client.Close)
		return client
	}
	for range 4 {
		until(t, 1, queueing(process(), "ours"))
	}
	until(t, 1, pollAsBSM(rdb, "no line"))
	check.Eventually(t, time.Minute, "somebody stands in line", func() bool {
		return rdb.ZCard(t.Context(), "redislock:line:{ours}").Val() > 0
	})
	want(t, examined(t, rdb, "starved", watching(100*time.Millisecond)), OK, "nobody takes a key past")

	for _, token := range []string{"a", "b", "c"} {
		until(t, 1, queueing(process().As(token), "tokens"))
	}
	check.Eventually(t, time.Minute, "a key under tokens of the callers' own is watched", func() bool {
		found := examined(t, rdb, "starved", watching(300*time.Millisecond))
		if !has(found, OK, "") {
			t.Fatalf("nobody has passed a line: %s", list(found))
		}
		return has(found, OK, "1 key held under a token that this library has not made")
	})

	until(t, 2, pollAsBSM(rdb, "polled"))
	until(t, 1, queueing(process(), "polled"))
	check.Eventually(t, time.Minute, "the line is passed", func() bool {
		return has(examined(t, rdb, "starved", watching(100*time.Millisecond)), Warning, "in 100ms, polled\n")
	})
}

// A key has changed hands past its line if two tokens held it while the same waiter stood first, before and after.
func TestOverlooked(t *testing.T) {
	t.Parallel()
	const ours = "AZabcdef" + token
	at := func(id string) []string {
		return []string{id + "bcdefghijklmnopqrstuv|1790000000000|wp--|9|1|1|0|cv"}
	}
	a, b, guard := at("a"), at("b"), []string{"guard|1"}
	type sight struct {
		before []string
		value  string
		after  []string
	}
	for name, tt := range map[string]struct {
		sights    []sight
		passed    int
		strangers bool
	}{
		"another holder":                {[]sight{{a, token, a}, {a, "x", a}}, 1, true},
		"two others":                    {[]sight{{a, token, a}, {a, "x", a}, {a, token, a}}, 2, true},
		"the same holder":               {[]sight{{a, "x|1", a}, {a, "x|2", a}}, 0, true},
		"the first was served":          {[]sight{{a, ours, a}, {b, "x", b}}, 0, true},
		"the line moved meanwhile":      {[]sight{{a, ours, a}, {a, "x", b}}, 0, false},
		"the line began meanwhile":      {[]sight{{a, ours, a}, {nil, "x", a}}, 0, false},
		"free, left or read in between": {[]sight{{a, "x", a}, {a, "", a}, {a, "|x", a}, {a, "x", a}}, 0, true},
		"no waiter":                     {[]sight{{guard, "x", guard}, {guard, "y", guard}, {nil, "z", nil}}, 0, false},
		"ours alone":                    {[]sight{{a, ours + "|host=a", a}}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o overlooked
			for _, s := range tt.sights {
				o.see(s.before, s.value, s.after)
			}
			if o.passed != tt.passed || o.strangers != tt.strangers {
				t.Errorf("got %d and %t, want %d and %t", o.passed, o.strangers, tt.passed, tt.strangers)
			}
		})
	}
}
