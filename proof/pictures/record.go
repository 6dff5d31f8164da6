package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// record brings an empty server into a state that is worth a look, and writes into the folder what the tool says of it.
func record(ctx context.Context, url, tool, folder string) error {
	opt, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(opt)
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	host := func(n int) *redislock.Client {
		about := fmt.Sprintf("host=web-%d pid=%d", n, 810+n)
		return redislock.New(rdb, redislock.WithMetadata(about))
	}
	hosts := []*redislock.Client{host(3), host(4), host(5), host(6)}
	for i, keys := range [][]string{{"orders:17"}, {"stock:9"}} {
		lock, err := hosts[i].Obtain(ctx, keys, 30*time.Second, nil)
		if err != nil {
			return err
		}
		defer func() { _ = lock.Release(context.WithoutCancel(ctx)) }()
	}
	waiting := make(chan struct{})
	for i, key := range []string{"orders:17", "orders:17", "stock:9"} {
		go func() {
			defer func() { waiting <- struct{}{} }()
			lock, err := hosts[i+1].Obtain(ctx, []string{key}, 30*time.Second, &redislock.Options{Queue: true})
			if err == nil {
				_ = lock.Release(context.WithoutCancel(ctx))
			}
		}()
		time.Sleep(700 * time.Millisecond) // so that each has its place, and waits for another time
	}
	defer func() {
		cancel()
		for range 3 {
			<-waiting
		}
		for _, h := range hosts {
			h.Close()
		}
	}()
	for name, args := range transcripts {
		out, err := exec.CommandContext(ctx, tool, slices.Concat(args, []string{"--redis", url})...).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), out, 0o644); err != nil {
			return err
		}
	}
	return nil
}
