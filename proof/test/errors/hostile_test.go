package errors_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/world"
)

// hostileReplies are none that obtain.lua or rw.lua can send, other than the refusals in them.
func hostileReplies() []any {
	const huge = int64(math.MaxInt64)
	return []any{
		nil, int64(-1), int64(-3), int64(2), huge, int64(math.MinInt64), "1", "OK", 1.0, true,
		struct{}{},
		map[any]any{"1": 1},
		[]any{},
		[]any{nil},
		[]any{"1"},
		[]any{int64(2)},
		[]any{int64(0)},
		[]any{int64(0), int64(1)},
		[]any{int64(1), int64(1)},
		[]any{int64(1), "extra"},
		[]any{int64(0), int64(1), "write"},
		[]any{int64(0), int64(1), "write", int64(5)},
		[]any{int64(0), int64(0), "write", int64(5), ""},
		[]any{int64(0), int64(2), "write", int64(5), ""},
		[]any{int64(0), huge, "write", int64(5), ""},
		[]any{int64(0), int64(-1), "write", int64(5), ""},
		[]any{int64(0), int64(1), int64(1), int64(5), ""},
		[]any{int64(0), int64(1), "write", "5", ""},
		[]any{int64(0), int64(1), "write", huge, ""},
		[]any{int64(0), int64(1), "write", int64(math.MinInt64), ""},
		[]any{int64(0), int64(1), "write", int64(5), nil},
		[]any{int64(0), int64(1), "write", int64(5), "", "extra"},
		[]any{int64(-1)},
		[]any{int64(-1), int64(0)},
		[]any{int64(-1), huge},
		[]any{int64(-1), "x"},
		[]any{int64(-1), int64(1), "x"},
		[]any{[]any{int64(1)}},
		[]any{errors.New("x")},
	}
}

func TestHostileReplies(t *testing.T) {
	t.Parallel()
	for i, answer := range hostileReplies() {
		t.Run(fmt.Sprintf("%d %v", i, answer), func(t *testing.T) {
			t.Parallel()
			client := redislock.New(world.Replies(func() any { return answer }))
			t.Cleanup(client.Close)
			ctx, key := t.Context(), []string{"k"}
			for name, obtain := range map[string]func() (*redislock.Lock, error){
				"obtain": func() (*redislock.Lock, error) { return client.Obtain(ctx, key, time.Minute, nil) },
				"read":   func() (*redislock.Lock, error) { return client.ObtainRead(ctx, key, time.Minute, nil) },
				"intent": func() (*redislock.Lock, error) {
					return client.Obtain(ctx, key, time.Minute, &redislock.Options{Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(1), 1)})
				},
			} {
				lock, err := obtain()
				conflict, refused := errors.AsType[*redislock.ConflictError](err) // with a strange time that is left
				if lock != nil || refused && conflict.Key != "k" || !refused && !errors.Is(err, redislock.ErrUnknownOutcome) {
					t.Errorf("%s: got %v and error %v, want that the outcome is not known", name, lock, err)
				}
			}
			heldAgainst(t, answer)
			if _, err := client.Inspect(ctx, []string{"k"}); err == nil {
				t.Error("inspect: got no error")
			}
			if holders, err := client.Break(ctx, key, ""); err == nil && answer != int64(-3) { // it was done by an earlier try
				t.Errorf("break: got %v and no error", holders)
			}
		})
	}
}

// heldAgainst does everything with a lock whose server then answers nonsense, which is no reason to take it for lost.
func heldAgainst(t *testing.T, answer any) {
	t.Helper()
	ctx := t.Context()
	for name, operation := range map[string]func(*redislock.Lock) error{
		"refresh":   func(l *redislock.Lock) error { return l.Refresh(ctx, time.Minute) },
		"release":   func(l *redislock.Lock) error { return l.Release(ctx) },
		"downgrade": func(l *redislock.Lock) error { return l.Downgrade(ctx) },
		"upgrade":   func(l *redislock.Lock) error { return l.Upgrade(ctx) },
	} {
		says := any(int64(1))
		client := redislock.New(world.Replies(func() any { return says }))
		lock, err := client.Obtain(ctx, []string{"k"}, time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		says = answer
		if err := operation(lock); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: got error %v of reply %v, want one that says what is wrong", name, err, answer)
		}
		if ttl, err := lock.TTL(ctx); err == nil && (ttl <= 0 || ttl > 365*24*time.Hour) {
			t.Errorf("ttl: got %v of reply %v", ttl, answer)
		}
		if says = int64(1); name != "release" {
			if err := lock.Refresh(ctx, time.Minute); err != nil {
				t.Errorf("%s: got error %v after reply %v, want that it is held", name, err, answer)
			}
		}
		client.Close()
	}
}
