package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// wantTree checks what tree says of a server: the status, some texts, and one that it has not.
func (c *crowd) wantTree(status int, none string, texts ...string) {
	c.t.Helper()
	stdout, stderr, got := runTool(c.t, "tree", "--ascii", "--redis", c.rdb.(*redis.Client).Options().Addr)
	if got != status || stderr != "" || strings.Contains(stdout, none) {
		c.t.Errorf("status %d, want %d, and no %q:\n%s%s", got, status, none, stdout, stderr)
	}
	for _, text := range texts {
		wantText(c.t, "stdout", stdout, text)
	}
}

// The owners of package reentrant have ids, and never wait for what they hold themselves.
func TestTreeReentrant(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, redistest.Start(t, redistest.Redis).Client(t))
	queue := &redislock.Options{Queue: true}
	waiting, cancel := context.WithCancel(c.ctx)
	var all sync.WaitGroup
	var owners []context.Context
	for _, key := range []string{"a", "b"} {
		ctx := reentrant.NewOwner(waiting)
		owners = append(owners, ctx)
		for range 2 {
			hold := check.Must[*reentrant.Hold](t)(reentrant.Obtain(ctx, c.client, []string{key}, time.Hour, queue))
			t.Cleanup(func() { _ = hold.Release(context.Background()) })
		}
	}
	for i, key := range []string{"b", "a"} {
		all.Go(func() {
			if inner, err := reentrant.Obtain(owners[i], c.client, []string{key}, time.Hour, queue); err == nil {
				_ = inner.Release(context.Background())
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	check.Eventually(t, soon, "both wait", func() bool { return c.inLine([]string{"a", "b"}) == 2 })
	c.wantTree(1, "deadlock 2", "certain deadlock 1: ", " -> a -> ", " -> b -> ")
}

func init() {
	redistest.RegisterRole("tree-waiter", func(args []string) {
		client := redislock.New(redis.NewClient(&redis.Options{Addr: args[0]}))
		ctx := redislock.WithCaller(context.Background(), "request-40")
		_, err := client.Obtain(ctx, []string{"orders:17"}, time.Hour, &redislock.Options{Queue: true})
		fmt.Println(err)
	})
}

// A waiter whose process was killed is passed over when it has been silent for long enough, and the deadlock is over with it.
func TestTreeDeadWaiter(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	c := newCrowd(t, server.Client(t))
	c.holds("request-31", "orders:17")
	c.holds("request-40", "stock:9")
	c.queues("request-31", "stock:9")
	waiter := redistest.StartRole(t, "tree-waiter", server.Addr())
	check.Eventually(t, soon, "it stands in line", func() bool { return c.inLine([]string{"orders:17"}) == 1 })
	c.wantTree(1, "gone", "certain deadlock 1: ")
	waiter.Kill()
	_ = waiter.Wait()
	check.Eventually(t, time.Minute, "it counts as gone", func() bool {
		line := check.Must[[]redislock.KeyState](t)(c.client.Inspect(t.Context(), []string{"orders:17"}))[0].Line
		return len(line) == 0 || !line[0].Alive
	})
	c.wantTree(0, "deadlock", "1 waiter gone, and passed over.")
}
