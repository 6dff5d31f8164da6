package redislockotel_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Neither tokens nor passwords nor metadata are in what is measured, traced, logged or said in an error, whatever goes wrong.
func TestSecretsAreNotTold(t *testing.T) {
	t.Parallel()
	const token, password, metadata = "marked-token", "marked-password", "marked-metadata"
	server := redistest.Start(t, redistest.Redis)
	admin := server.Client(t, func(o *redis.Options) { o.Password = password })
	check.NoError(t, server.Client(t).ConfigSet(t.Context(), "requirepass", password).Err())
	m := newMeter(t)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	newClient := func(password string) *redislock.Client {
		rdb := server.Client(t, func(o *redis.Options) { o.Password = password })
		return redislock.New(rdb, redislock.WithHooks(m.hooks), redislock.WithLogger(logger))
	}
	ctx, keys := t.Context(), []string{"k"}
	opt := &redislock.Options{Metadata: metadata, Watchdog: true, Fenced: true, Name: "name"}
	var errs []error
	client := newClient(password)
	lock := check.Must[*redislock.Lock](t)(client.As(token).Obtain(ctx, keys, time.Minute, opt))
	wrong := newClient("marked-password-that-is-wrong")
	_, err := wrong.As(token).Obtain(ctx, keys, time.Minute, opt)
	errs = append(errs, err, lock.Refresh(ctx, time.Minute))
	check.NoError(t, admin.Del(ctx, keys...).Err())
	errs = append(errs, lock.Refresh(ctx, time.Minute), lock.Release(ctx), context.Cause(lock.Context(ctx)))
	check.NoError(t, admin.HSet(ctx, "foreign", token, metadata).Err())
	_, err = client.As(token).Obtain(ctx, []string{"foreign"}, time.Minute, opt)
	errs = append(errs, err)
	client.Close()
	wrong.Close()

	told := map[string]string{"the log": log.String(), "the errors": fmt.Sprint(errs), "the metrics": fmt.Sprintf("%+v", m.metrics(t))}
	for _, span := range m.spans.Ended() {
		told["a span"] += fmt.Sprintln(span.Name(), span.Attributes(), span.Events(), span.Status(), span.Links())
	}
	for where, text := range told {
		if len(text) < 20 {
			t.Errorf("%s: %q, want something to look at", where, text)
		}
		if i := strings.Index(text, "marked-"); i >= 0 {
			t.Errorf("%s: %s", where, text[max(0, i-200):min(len(text), i+100)])
		}
	}
}
