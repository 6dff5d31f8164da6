package api_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

type happened struct {
	Name  string
	Event redislock.Event
}

func TestLogger(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		var text bytes.Buffer
		client := redislock.New(w.RDB, redislock.WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a", "b"), 30*time.Second, world.Watched))
		ctx := lock.Context(t.Context())
		mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
		time.Sleep(15 * time.Second)
		mini.Miniredis().SetError("")
		mini.Miniredis().Del(w.Key("b"))
		<-ctx.Done()
		synctest.Wait()
		for _, want := range []string{"level=INFO msg=\"redislock: renewal failed", "LOADING", "level=WARN msg=\"redislock: lock lost", w.Key("b")} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("got log\n%s\nwant it to say %q", text.String(), want)
			}
		}
		if strings.Contains(text.String(), lock.Token()) {
			t.Error("the log shows a token")
		}
		if cause := context.Cause(ctx); !errors.Is(cause, redislock.ErrLockLost) {
			t.Errorf("got cause %v", cause)
		}
	})
}
