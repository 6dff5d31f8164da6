package errors_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// logged keeps what is logged. It is safe for concurrent use.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) wantNone(t *testing.T, secret string) {
	t.Helper()
	if text := l.String(); strings.Contains(text, secret) {
		t.Errorf("%q is in the log:\n%s", secret, text)
	}
}

// Tokens are bearer secrets: none in an error, in the log, or in what Inspect returns.
func TestTokensAreNotTold(t *testing.T) {
	t.Parallel()
	b := redistest.Shared(t, redistest.Redis)
	relay := redistest.NewRelay(t, b.Addr())
	direct := b.Client(t)
	var log logged
	var mu sync.Mutex
	var seen []error
	note := func(errs ...error) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, errs...)
	}
	hook := func(_ context.Context, e redislock.Event) { note(e.Err) }
	client := redislock.New(relay.Client(t, func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = -1, time.Second }),
		redislock.WithLogger(log.logger()), redislock.WithHooks(redislock.Hooks{Obtained: hook, Refused: hook, Refreshed: hook, Lost: hook, Released: hook}))
	t.Cleanup(client.Close)
	ctx, keys := t.Context(), []string{t.Name()}
	obtain := func(token string) *redislock.Lock {
		lock, err := client.As(token).Obtain(ctx, keys, time.Minute, &redislock.Options{Watchdog: true})
		note(err)
		return lock
	}

	lock := obtain(marked)
	_ = obtain(marked + "-other") // refused
	states, err := client.Inspect(ctx, keys)
	note(err, fmt.Errorf("%+v", states))
	note(lock.Downgrade(ctx))
	_, err = client.As(marked+"-other").Obtain(ctx, keys, time.Minute, nil)
	note(err)
	states, err = client.Inspect(ctx, keys)
	note(err, fmt.Errorf("%+v", states))
	direct.Del(ctx, keys...)
	note(lock.Refresh(ctx, time.Minute), lock.Release(ctx)) // lost
	_, err = lock.TTL(ctx)
	note(err)
	direct.HSet(ctx, keys[0], marked, marked)
	_ = obtain(marked) // foreign
	direct.Del(ctx, keys...)
	_, err = client.As(marked+"|").Obtain(ctx, keys, time.Minute, nil)
	note(err)
	_, err = client.Attach(keys, marked+"|").TTL(ctx)
	note(err)
	relay.DropReplies(true)
	_ = obtain(marked) // unknown
	relay.DropReplies(false)
	client.Close()

	mu.Lock()
	defer mu.Unlock()
	for _, err := range seen {
		if err != nil && strings.Contains(err.Error(), marked) {
			t.Errorf("a token is shown: %v", err)
		}
	}
	if len(log.String()) == 0 {
		t.Error("nothing was logged, want the loss at least")
	}
	log.wantNone(t, marked)
}
