// Package survey finds the locks on a server.
package survey

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A Query is which locks are looked for.
type Query struct {
	Pattern string // a glob, as of SCAN, that their keys match behind the prefix; empty: all
	// Progress is told how many keys of the server were looked at, and how many there are; nil: nobody is told.
	Progress func(done, all int64)
}

// Locks finds every key that is locked or waited for, or has an intent, and calls found with a few at a time, each once. It reads with SCAN, so
// what changes meanwhile may be missed.
func Locks(ctx context.Context, conn *cli.Conn, q Query, found func([]redislock.KeyState) error) error {
	client := conn.Client()
	defer client.Close()
	pattern := q.Pattern
	if pattern == "" {
		pattern = "*"
	}
	return conn.EachMaster(ctx, func(ctx context.Context, one *redis.Client) error {
		var cursor uint64
		for {
			names, next, err := one.Scan(ctx, cursor, conn.Prefix+pattern, 500).Result()
			if err != nil {
				return fmt.Errorf("scan: %w", err)
			}
			var keys []string
			for _, name := range names {
				if !strings.HasPrefix(name, "redislock:") {
					keys = append(keys, strings.TrimPrefix(name, conn.Prefix))
				}
			}
			states, err := client.Inspect(ctx, keys)
			if err != nil {
				return err
			}
			var locked []redislock.KeyState
			for _, s := range states {
				if s.Mode == redislock.ModeWrite || s.Mode == redislock.ModeRead || len(s.Line) > 0 || s.Intent != nil {
					locked = append(locked, s)
				}
			}
			if err := found(locked); err != nil {
				return err
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
}
