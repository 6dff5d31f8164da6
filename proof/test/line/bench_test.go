package line_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// What a thousand waiters in line cost while nothing moves.
func BenchmarkStanding(b *testing.B) {
	const many, lasts, lease = 1000, 10 * time.Second, 10 * time.Second
	server := redistest.Shared(b, redistest.Redis)
	for b.Loop() {
		rdb := server.Client(b)
		count := check.Count(rdb, "")
		client := redislock.New(rdb)
		ctx, cancel := context.WithCancel(context.Background())
		key := []string{"standing"}
		holder, err := client.Obtain(ctx, key, time.Hour, nil)
		if err != nil {
			b.Fatal(err)
		}
		line := func() int {
			state, err := client.Inspect(ctx, key)
			if err != nil {
				b.Fatal(err)
			}
			return len(state[0].Line)
		}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var wg sync.WaitGroup
		for range many {
			wg.Go(func() { _, _ = client.Obtain(ctx, key, lease, &redislock.Options{Queue: true}) })
		}
		for line() < many {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		runtime.GC()
		runtime.ReadMemStats(&after)
		sent := count.Load()
		time.Sleep(lasts)
		b.ReportMetric(float64(count.Load()-sent)/lasts.Seconds(), "round-trips/s")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "heap-MiB")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/(1<<20), "stacks-MiB")
		subscribers := rdb.ClientList(ctx).Val()
		b.ReportMetric(float64(strings.Count(subscribers, "cmd=subscribe")), "subscribers")
		cancel()
		wg.Wait()
		_ = holder.Release(context.Background())
		client.Close()
	}
	b.ReportMetric(0, "ns/op")
}
