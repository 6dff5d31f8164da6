package survey_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// fill puts many keys into a server: a third each of strings with and without a TTL, and locks.
func fill(tb testing.TB, rdb *redis.Client, n, locks int) {
	tb.Helper()
	ctx := context.Background()
	for from := 0; from < n; from += 1000 {
		p := rdb.Pipeline()
		for i := from; i < min(n, from+1000); i++ {
			switch name := fmt.Sprintf("app:%d", i); {
			case i < locks:
				p.Set(ctx, name, fmt.Sprintf("%021dA|host=web-3 pid=%d prog=shop", i, i), time.Hour)
			case i%2 == 0:
				p.Set(ctx, name, "some data of a program", time.Hour)
			default:
				p.Set(ctx, name, "some data of a program", 0)
			}
		}
		if _, err := p.Exec(ctx); err != nil {
			tb.Fatal(err)
		}
	}
}

// pings measures how long others wait for their answers until done is closed.
func pings(tb testing.TB, rdb *redis.Client, done <-chan struct{}) []time.Duration {
	tb.Helper()
	var took []time.Duration
	for {
		begun := time.Now()
		if err := rdb.Ping(context.Background()).Err(); err != nil {
			tb.Error(err)
			return took
		}
		took = append(took, time.Since(begun))
		select {
		case <-done:
			slices.Sort(took)
			return took
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// BenchmarkLocks goes over 100 000 keys, and measures how long PINGs of somebody else take meanwhile, and without it.
func BenchmarkLocks(b *testing.B) {
	const keys = 100_000
	for _, locks := range []int{0, 1000, keys} {
		b.Run(fmt.Sprintf("locks=%d", locks), func(b *testing.B) {
			server := redistest.Start(b, redistest.Redis)
			rdb := server.Client(b)
			fill(b, rdb, keys, locks)
			conn, err := (&cli.Redis{URL: "redis://" + server.Addr()}).Open(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			others := server.Client(b)
			report := func(name string, work func()) {
				done, took := make(chan struct{}), make(chan []time.Duration)
				go func() { took <- pings(b, others, done) }()
				work()
				close(done)
				all := <-took
				for _, q := range []float64{0.5, 0.99, 1} {
					at := all[min(len(all)-1, int(q*float64(len(all))))]
					b.ReportMetric(float64(at.Microseconds()), fmt.Sprintf("%s-p%g-µs", name, 100*q))
				}
			}
			for b.Loop() {
				report("idle", func() { time.Sleep(time.Second) })
				begun := time.Now()
				report("ls", func() {
					found := 0
					err := survey.Locks(b.Context(), conn, survey.Query{}, func(states []redislock.KeyState) error {
						found += len(states)
						return nil
					})
					if err != nil || found != locks {
						b.Errorf("found %d, %v", found, err)
					}
				})
				b.ReportMetric(time.Since(begun).Seconds(), "ls-s")
			}
		})
	}
}
