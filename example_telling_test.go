package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/seed-14de3678/redislock"
)

func ExampleHooks() {
	rdb, stop := startRedis()
	defer stop()

	tell := func(what string) func(context.Context, redislock.Event) {
		return func(_ context.Context, e redislock.Event) { fmt.Println(what, e.Keys, e.Mode, e.Err == nil) }
	}
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Obtained: tell("obtained"),
		Refused:  tell("refused"),
		Released: tell("released"),
	}))

	ctx := context.Background()
	lock, err := client.Obtain(ctx, []string{"order:7", "stock:9"}, time.Minute, nil)
	if err != nil {
		return
	}
	_, _ = client.ObtainRead(ctx, []string{"stock:9"}, time.Minute, nil)
	_ = lock.Release(ctx)
	// Output:
	// obtained [order:7 stock:9] write true
	// refused [stock:9] read false
	// released [order:7 stock:9] write true
}

func ExampleWithLogger() {
	rdb, stop := startRedis()
	defer stop()

	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "error" {
				return slog.Attr{} // only here: they are not the same each time
			}
			return a
		},
	}))
	client := redislock.New(rdb, redislock.WithLogger(logger))

	ctx := context.Background()
	lock, err := client.Obtain(ctx, []string{"stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	rdb.Del(ctx, "stock:9") // somebody meddles
	fmt.Println(errors.Is(lock.Refresh(ctx, time.Minute), redislock.ErrLockNotHeld))
	// Output:
	// level=WARN msg="redislock: lock lost" keys=[stock:9]
	// true
}
