//go:build !earlier

package main

import (
	"context"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/compat"
)

// This file has what the earlier version has not.

func options(prefix []string) (all []redislock.ClientOption) {
	if len(prefix) > 0 {
		all = append(all, redislock.WithKeyPrefix(prefix[0]))
	}
	return all
}

func breaks(ctx context.Context, client *redislock.Client, keys []string, reply *compat.Reply) error {
	broken, err := client.Break(ctx, keys, "for a test")
	reply.Broken = len(broken)
	if len(broken) > 0 {
		reply.Key, reply.Mode, reply.Metadata = broken[0].Key, string(broken[0].Mode), broken[0].Holder.Metadata
	}
	return err
}
