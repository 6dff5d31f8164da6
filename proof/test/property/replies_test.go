package property_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/world"
)

// says reports whether a reply says that all went well: 1, or a list that begins with it.
func says(reply any) bool {
	if list, ok := reply.([]any); ok && len(list) > 0 {
		reply = list[0]
	}
	return reply == any(int64(1))
}

// No reply is a lock, or has anything done, that does not say so; and none is too strange to be read.
func FuzzReplies(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{1, 8, 2, 0, 3, 0, 4, 0, 5, 1, 4, 1, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		c := &choices{bytes}
		keys := []string{"a", "b"}
		opt := &redislock.Options{Fenced: c.next(2) == 1}
		reply := c.reply(0)
		client := redislock.New(world.Replies(func() any { return reply }))
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		lock, err := client.ObtainSet(ctx, redislock.Set{Write: keys[:1], Read: keys[1:]}, time.Minute, opt)
		if (lock == nil) == (err == nil) || lock != nil && !says(reply) {
			t.Fatalf("reply %#v: got the lock %v and the error %v", reply, lock, err)
		}
		if _, err := client.Break(ctx, keys, ""); err == nil && !says(reply) {
			t.Errorf("reply %#v: something was broken", reply)
		}
		_, _ = client.Inspect(ctx, keys) // it has to come back
		held(ctx, t, c)
	})
}

// held does everything with a lock whose server then answers something else.
func held(ctx context.Context, t *testing.T, c *choices) {
	t.Helper()
	reply := any(int64(1))
	client := redislock.New(world.Replies(func() any { return reply }))
	defer client.Close()
	lock, err := client.Obtain(ctx, []string{"a", "b"}, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply = c.reply(0)
	if ttl, err := lock.TTL(ctx); err == nil && (ttl <= 0 || ttl > 366*24*time.Hour) {
		t.Errorf("reply %#v: got the ttl %v", reply, ttl)
	}
	operation := choose(c, lock.Downgrade, lock.Upgrade, lock.Release, func(ctx context.Context) error {
		return lock.Refresh(ctx, time.Minute)
	}, func(ctx context.Context) error { return lock.Leave(ctx, time.Minute) })
	if err := operation(ctx); err == nil && !says(reply) {
		t.Errorf("reply %#v: got no error", reply)
	}
}
