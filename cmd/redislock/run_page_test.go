//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

func init() {
	fixtures["run"] = func(t *testing.T, addr string) {
		t.Helper()
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = rdb.Close() })
		_, err := redislock.New(rdb).Obtain(t.Context(), []string{"nightly"}, 30*time.Minute, &redislock.Options{
			Metadata: "host=web-3 pid=812 prog=report user=cron since=2026-03-01T09:26:53Z",
		})
		check.NoError(t, err)
	}
}
