package line_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A node answers as a server with a key that somebody else holds, which is free for those who stand in line.
type node struct {
	mu    sync.Mutex
	heard []string // how channels were subscribed to
	told  []bool   // whether those who stand in line are to be told by sharded pub/sub
}

func (n *node) answers(words []string) (reply string, answered bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch words[0] {
	case "hello":
		return "-ERR unknown command\r\n", true
	case "subscribe", "ssubscribe":
		n.heard = append(n.heard, words[0])
		return fmt.Sprintf("*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:1\r\n", len(words[0]), words[0], len(words[1]), words[1]), true
	case "evalsha", "eval":
		run := check.RunOf(words...)
		switch {
		case world.AsksFirst(run):
			return world.HeldBySomebody, true
		case world.StandsInLine(run):
			n.told = append(n.told, run.Obtain.Waiter.Sharded)
		}
		return ":1\r\n", true
	}
	return "+OK\r\n", true
}

func (n *node) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go redistest.AnswerCommands(far, n.answers)
	return near, nil
}

// A waiter says where it hears its channel: at a Cluster by sharded pub/sub, and nowhere else.
func TestWaiterSaysHowItHears(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		connect func(n *node) redis.UniversalClient
		heard   string
		sharded bool
	}{
		"one server": {func(n *node) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Protocol: 2, DisableIdentity: true, MaxRetries: -1, Dialer: n.dial})
		}, "subscribe", false},
		"a Cluster": {func(n *node) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{
				Protocol: 2, DisableIdentity: true, MaxRetries: -1, MaxRedirects: -1, Dialer: n.dial,
				ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
					return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: "127.0.0.1:1"}}}}, nil
				},
			})
		}, "ssubscribe", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := new(node)
				rdb := c.connect(n)
				t.Cleanup(func() {
					_ = rdb.Close()
					time.Sleep(time.Minute) // so long what a Cluster looks up in the background may take
				})
				client := world.NewClient(t, rdb)
				lock, err := client.Obtain(t.Context(), []string{"k"}, time.Hour, world.Queue())
				check.NoError(t, err)
				check.NoError(t, lock.Release(t.Context()))
				n.mu.Lock()
				defer n.mu.Unlock()
				if !slices.Equal(n.heard, []string{c.heard}) || !slices.Equal(n.told, []bool{c.sharded}) {
					t.Errorf("it hears by %q, and is told by sharded pub/sub: %t; want %s and %t", n.heard, n.told, c.heard, c.sharded)
				}
			})
		})
	}
}
