// Package large is what a program does that uses much of go-redis.
package large

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

var script = redis.NewScript(`return redis.call("DECR", KEYS[1])`)

// Use sends commands to the servers that the command line names, also as a pipeline; it subscribes to a channel,
// and it writes a log.
func Use(ctx context.Context) redis.UniversalClient {
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: os.Args[1:]})
	_, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "stock:9", 42, time.Hour)
		pipe.Get(ctx, "stock:9")
		return nil
	})
	Check(err)
	Check(script.Run(ctx, rdb, []string{"stock:9"}).Err())
	news := rdb.Subscribe(ctx, "news")
	defer func() { _ = news.Close() }()
	_, err = news.ReceiveMessage(ctx)
	Check(err)
	slog.InfoContext(ctx, "done", "servers", os.Args[1:])
	return rdb
}

// Check ends the program after an error.
func Check(err error) {
	if err != nil {
		slog.Error("failed", "error", err)
		os.Exit(1)
	}
}
