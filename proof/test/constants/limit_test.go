package constants_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/quorum"
)

// Of everything that is limited there may be as much as the limit says, and no more. The context has ended, so nothing is sent.
func TestLimits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // nobody is asked
	t.Cleanup(func() { _ = rdb.Close() })
	client := world.NewClient(t, rdb)
	wide := world.NewClient(t, rdb, redislock.WithMaxKeys(1<<20))
	asks := world.NewClient(t, rdb, redislock.WithMinUptime(time.Hour))
	nodes, err := quorum.New([]*redislock.Client{client, wide})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)

	x := func(n int) string { return strings.Repeat("x", n) }
	with := func(opt redislock.Options) error {
		_, err := client.Obtain(ctx, []string{"k"}, time.Minute, &opt)
		return err
	}
	keys := func(client *redislock.Client, n int, opt *redislock.Options) error {
		_, err := client.Obtain(ctx, world.Numbered("k", n), time.Minute, opt)
		return err
	}
	const year = int(365 * 24 * time.Hour)
	for what, limit := range map[string]struct {
		most int
		try  func(n int) error
	}{
		"keys":                  {1000, func(n int) error { return keys(client, n, nil) }},
		"keys with WithMaxKeys": {10000, func(n int) error { return keys(wide, n, nil) }},
		"metadata":              {4096, func(n int) error { return with(redislock.Options{Metadata: x(n)}) }},
		"name":                  {128, func(n int) error { return with(redislock.Options{Name: x(n)}) }},
		"token": {512, func(n int) error {
			_, err := client.As(x(n)).Obtain(ctx, []string{"k"}, time.Minute, nil)
			return err
		}},
		"ttl": {year, func(n int) error {
			_, err := client.Obtain(ctx, []string{"k"}, time.Duration(n), nil)
			return err
		}},
		"uptime": {year, func(n int) error {
			_, err := world.NewClient(t, rdb, redislock.WithMinUptime(time.Duration(n))).Obtain(ctx, []string{"k"}, time.Minute, nil)
			return err
		}},
		"ttl with WithMinUptime": {int(time.Hour), func(n int) error {
			_, err := asks.Obtain(ctx, []string{"k"}, time.Duration(n), nil)
			return err
		}},
		"HoldAtLeast with WithMinUptime": {int(time.Hour), func(n int) error {
			_, err := asks.Obtain(ctx, []string{"k"}, time.Minute, &redislock.Options{HoldAtLeast: time.Duration(n)})
			return err
		}},
		"HoldAtLeast": {year, func(n int) error { return with(redislock.Options{HoldAtLeast: time.Duration(n)}) }},
		"caller": {64, func(n int) error {
			_, err := client.Obtain(redislock.WithCaller(ctx, x(n)), []string{"k"}, time.Minute, nil)
			return err
		}},
		"prefix": {256, func(n int) error {
			_, err := world.NewClient(t, rdb, redislock.WithKeyPrefix(x(n))).Obtain(ctx, []string{"k"}, time.Minute, nil)
			return err
		}},
		"reason of a Break": {1024, func(n int) error {
			_, err := client.Break(ctx, []string{"k"}, x(n))
			return err
		}},
		"ttl at several servers": {year, func(n int) error {
			_, err := nodes.Obtain(ctx, []string{"k"}, time.Duration(n), nil)
			return err
		}},
		"name at several servers": {128, func(n int) error {
			_, err := nodes.Obtain(ctx, []string{"k"}, time.Minute, &redislock.Options{Name: x(n)})
			return err
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if err := limit.try(limit.most); !errors.Is(err, context.Canceled) {
				t.Errorf("%d: got %.200v, want that it is allowed", limit.most, err)
			}
			if err := limit.try(limit.most + 1); err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("%d: got %.200v, want that it is refused", limit.most+1, err)
			}
		})
	}
}

// An error names eight keys, and 200 bytes of the metadata of who is in the way.
func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	text := (&redislock.ConflictError{Key: "k", Mode: redislock.ModeWrite, Metadata: strings.Repeat("m", 500)}).Error()
	if got := strings.Count(text, "m"); got < 200 || got > 210 {
		t.Errorf("got %d bytes of metadata in %q, want 200", got, text)
	}
}
