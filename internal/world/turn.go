package world

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// A Turn is a lock that one of several waiters got.
type Turn struct {
	Who  string
	Lock *redislock.Lock
	Err  error
}

// Apart marks the context of an Obtain that is to stand in Redis by itself, even if others of its Client queue for the same set,
// as each step of a larger Obtain does.
func Apart(ctx context.Context) context.Context { return pace.OnWaiting(ctx, nil) }

// Wait starts an Obtain that stands in line, by itself. Its outcome goes to turns.
func (w *World) Wait(ctx context.Context, turns chan<- Turn, who string, write, read []string) {
	opt := Queue()
	opt.Metadata = who
	go func() {
		lock, err := w.Client.ObtainSet(Apart(ctx), redislock.Set{Write: write, Read: read}, Long, opt)
		turns <- Turn{who, lock, err}
	}()
}

// InLine waits until so many stand in line for the key, and returns them.
func (w *World) InLine(t *testing.T, key string, n int) []redislock.Waiter {
	t.Helper()
	var line []redislock.Waiter
	check.Eventually(t, 5*time.Second, fmt.Sprintf("%d stand in line", n), func() bool {
		line = check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), []string{key}))[0].Line
		return len(line) == n
	})
	return line
}

// WantTurn checks that the waiters with these names get the next locks, in any order, and returns the locks.
func WantTurn(t *testing.T, turns <-chan Turn, who ...string) []*redislock.Lock {
	t.Helper()
	return WantTurnWithin(t, turns, Soon, who...)
}

// WantTurnWithin is WantTurn for turns that take longer than [Soon], or must not.
func WantTurnWithin(t *testing.T, turns <-chan Turn, within time.Duration, who ...string) []*redislock.Lock {
	t.Helper()
	var locks []*redislock.Lock
	want := make(map[string]bool)
	for _, w := range who {
		want[w] = true
	}
	for range who {
		got, ok := check.Receive(turns, within)
		if !ok {
			t.Fatalf("nobody got the lock, want %v", who)
		}
		check.NoError(t, got.Err)
		if !want[got.Who] {
			t.Fatalf("it is the turn of %s, want one of %v", got.Who, who)
		}
		locks = append(locks, got.Lock)
	}
	return locks
}

// WantNobody checks that nobody has got a lock.
func WantNobody(t *testing.T, turns <-chan Turn) {
	t.Helper()
	select {
	case got := <-turns:
		t.Fatalf("%s got the lock (error: %v), want nobody", got.Who, got.Err)
	case <-time.After(20 * time.Millisecond):
	}
}
