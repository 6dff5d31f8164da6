package survey_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

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
	data := []string{"strings", "strings with a TTL"}
	for locks, kinds := range map[int][]string{
		0:    data,
		1000: append(slices.Repeat(data, 49), "strings", "locks"),
		keys: {"locks"},
	} {
		b.Run(fmt.Sprintf("locks=%d", locks), func(b *testing.B) {
			server := redistest.Start(b, redistest.Redis)
			rdb, others := server.Client(b), server.Client(b)
			crowd(b, rdb, keys, kinds)
			conn := open(b, rdb, "")
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
