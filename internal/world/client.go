package world

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// NewClient makes a Client that is closed when the test ends.
func NewClient(t *testing.T, rdb redis.Scripter, opts ...redislock.ClientOption) *redislock.Client {
	t.Helper()
	client := redislock.New(rdb, opts...)
	t.Cleanup(client.Close)
	return client
}

// A Bare client can run scripts, and nothing else.
type Bare struct{ redis.Scripter }

// NewRing makes a Ring of two servers, and a client of each of them.
func NewRing(t *testing.T) (*redis.Ring, []*redis.Client) {
	t.Helper()
	one, two := redistest.Start(t, redistest.Redis), redistest.Start(t, redistest.Redis)
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": one.Addr(), "two": two.Addr()}})
	t.Cleanup(func() { _ = ring.Close() })
	return ring, []*redis.Client{one.Client(t), two.Client(t)}
}

// CaughtUp waits until the replicas have all that was written. WAIT is about what was written before
// the last command of its own connection.
func CaughtUp(t *testing.T, master *redis.Client, replicas int) {
	t.Helper()
	conn := master.Conn()
	defer func() { _ = conn.Close() }()
	check.Eventually(t, 10*time.Second, "the replicas have caught up", func() bool {
		// Not a command with a key: its slot may be elsewhere, and what is refused does not count.
		conn.Ping(t.Context())
		n, err := conn.Wait(t.Context(), replicas, time.Second).Result()
		return err == nil && int(n) >= replicas
	})
}

// Batched returns a Client of the shared Redis. It sends calls of several goroutines together, or each by itself,
// because its Redis client has a type of its own.
func Batched(t *testing.T, batched bool) (*redislock.Client, *redis.Client) {
	t.Helper()
	rdb := redistest.Shared(t, redistest.Redis).Client(t)
	if batched {
		return NewClient(t, rdb), rdb
	}
	return NewClient(t, struct{ redis.Scripter }{rdb}), rdb
}

// ReleaseAnyway releases a lock with a context that may end meanwhile. Then on a busy machine it does not wait for the
// answer any longer, and the lock is released all the same.
func ReleaseAnyway(ctx context.Context, t *testing.T, lock *redislock.Lock) {
	t.Helper()
	if err := lock.Release(ctx); err != nil && (ctx.Err() == nil || !errors.Is(err, redislock.ErrUnknownOutcome)) {
		t.Errorf("release: %v", err)
	}
}
