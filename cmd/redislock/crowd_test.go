package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A crowd is callers who hold keys of a server and wait for others, until the test ends.
type crowd struct {
	t      *testing.T
	rdb    redis.UniversalClient
	client *redislock.Client
	ctx    context.Context
	locks  map[string]*redislock.Lock // by their first key
}

func newCrowd(t *testing.T, rdb redis.UniversalClient) *crowd {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &crowd{t, rdb, redislock.New(rdb, redislock.WithBreakNotices()), ctx, map[string]*redislock.Lock{}}
	t.Cleanup(c.client.Close)
	t.Cleanup(cancel)
	return c
}

// A wish is what one of a crowd wants.
type wish struct {
	redislock.Options
	who   string
	keys  []string
	read  bool
	ttl   time.Duration
	token string
}

// web and request name somebody: a process with the metadata of redislock.InstanceMetadata, and a caller with an id in one.
// Whatever else who is, it is the metadata.
const (
	web     = "web-%d"
	request = "request-%d"
)

func (c *crowd) obtain(ctx context.Context, w wish) (*redislock.Lock, error) {
	var n int
	w.Metadata = w.who
	if _, err := fmt.Sscanf(w.who, request, &n); err == nil {
		ctx, n = redislock.WithCaller(ctx, w.who), n/10
	} else if _, err := fmt.Sscanf(w.who, web, &n); err != nil {
		n = 0
	}
	if n > 0 {
		w.Metadata = fmt.Sprintf("host=web-%d pid=%d prog=shop since=2026-03-01T09:26:5%dZ", n, 810+n, n)
	}
	set := redislock.Set{Write: w.keys}
	if w.read {
		set = redislock.Set{Read: w.keys}
	}
	if w.ttl == 0 {
		w.ttl = time.Hour
	}
	if w.token != "" {
		return c.client.As(w.token).ObtainSet(ctx, set, w.ttl, &w.Options)
	}
	return c.client.ObtainSet(ctx, set, w.ttl, &w.Options)
}

// hold has somebody obtain keys.
func (c *crowd) hold(w wish) *redislock.Lock {
	c.t.Helper()
	lock := check.Must[*redislock.Lock](c.t)(c.obtain(c.ctx, w))
	c.locks[w.keys[0]] = lock
	return lock
}

// holds is hold for a writer with this metadata.
func (c *crowd) holds(who string, keys ...string) *redislock.Lock {
	c.t.Helper()
	return c.hold(wish{who: who, keys: keys})
}

// queue has somebody stand in line, or come with an intent, and returns when that can be seen. Whoever gets the keys is sent
// to the channel.
func (c *crowd) queue(w wish) <-chan *redislock.Lock {
	c.t.Helper()
	before, got := c.inLine(w.keys), make(chan *redislock.Lock, 1)
	w.Queue = !w.Intent
	if w.Intent {
		w.RetryStrategy = redislock.LinearBackoff(5 * time.Second)
	}
	ctx, cancel := context.WithCancel(world.Apart(c.ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lock, err := c.obtain(ctx, w)
		if err == nil {
			got <- lock
		} else if !errors.Is(err, context.Canceled) {
			c.t.Errorf("%s waits: %v", w.who, err)
		}
	}()
	c.t.Cleanup(func() {
		cancel()
		<-ended
	})
	check.Eventually(c.t, soon, w.who+" stands in line", func() bool { return c.inLine(w.keys) == before+len(w.keys) })
	return got
}

// queues is queue for a writer with this metadata.
func (c *crowd) queues(who string, keys ...string) <-chan *redislock.Lock {
	c.t.Helper()
	return c.queue(wish{who: who, keys: keys})
}

// inLine counts who waits for keys.
func (c *crowd) inLine(keys []string) (n int) {
	for _, state := range check.Must[[]redislock.KeyState](c.t)(c.client.Inspect(context.Background(), keys)) {
		if n += len(state.Line); state.Intent != nil {
			n++
		}
	}
	return n
}
