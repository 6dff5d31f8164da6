// A program that obtains a lock and reads the metrics of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/redislockotel"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	reader := metric.NewManualReader()
	hooks, err := redislockotel.Hooks(redislockotel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
	if err != nil {
		return err
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	client := redislock.New(rdb, redislock.WithHooks(hooks))
	defer client.Close()

	lock, err := client.Obtain(ctx, []string{"lock:metrics"}, 10*time.Second, nil)
	if err != nil {
		return err
	}
	var all metricdata.ResourceMetrics
	if err := errors.Join(lock.Release(ctx), reader.Collect(ctx, &all)); err != nil {
		return err
	}
	if len(all.ScopeMetrics) == 0 {
		return errors.New("no metrics")
	}
	return nil
}
