package matrix_test

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// newClient makes a Client with a Redis client of its own.
func (c *cell) newClient() *redislock.Client {
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Dialer: c.network.Dial, ReadTimeout: -1, WriteTimeout: -1, MaxRetries: c.retries(),
		DisableIdentity: true, Protocol: 2, // what else it would do in the background never ends
	})
	for _, hook := range c.hooks {
		rdb.AddHook(hook)
	}
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Lost: func(_ context.Context, e redislock.Event) { c.note("%v is lost: %v", e.Keys, e.Err) },
	}))
	c.closers = append(c.closers, func() { _ = rdb.Close() }, client.Close)
	return client
}

// retries is how often a request is sent again: where time is real, as often as by default, for short pauses.
func (c *cell) retries() int {
	if c.real > 0 {
		return 3
	}
	return 1
}

// second returns another Client, which is made by the first call.
func (c *cell) second() *redislock.Client {
	if c.other == nil {
		c.other = c.newClient()
	}
	return c.other
}
