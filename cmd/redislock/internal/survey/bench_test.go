package survey_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// pings measures how long others wait for their answers until done is closed.
func pings(tb testing.TB, rdb *redis.Client, done <-chan struct{}) (took []time.Duration) {
	tb.Helper()
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

// used returns how much processor time a server has used, in µs.
func used(tb testing.TB, rdb *redis.Client) (micros float64) {
	tb.Helper()
	all, err := rdb.InfoMap(context.Background(), "cpu").Result()
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, bad := strconv.ParseFloat(all["CPU"][name], 64)
		if err != nil || bad != nil {
			tb.Fatal(all, err, bad)
		}
		micros += 1e6 * seconds
	}
	return micros
}

// BenchmarkLocks measures what others notice of a survey, without and with a prefix, and of a bare SCAN over the same keys: how long
// their PINGs take meanwhile, and how much of the server's processor it takes. With -count all are measured in turns.
func BenchmarkLocks(b *testing.B) {
	const keys = 100_000
	for _, kinds := range [][]string{
		{"strings"},
		{"strings with a TTL"},
		{"hashes"},
		{"hashes with a TTL"},
		{"strings", "strings with a TTL", "hashes", "hashes with a TTL"},
		{"strings", "strings with a TTL", "strings", "strings with a TTL", "strings", "strings with a TTL", "strings", "locks"},
		{"locks"},
	} {
		b.Run(strings.Join(slices.Compact(slices.Sorted(slices.Values(kinds))), "+"), func(b *testing.B) {
			server := redistest.Start(b, redistest.Redis)
			rdb, others := server.Client(b), server.Client(b)
			crowd(b, rdb, keys, kinds)
			conn, prefixed := open(b, rdb, ""), open(b, rdb, "lock:")
			measure := func(name string, work func()) {
				done, took := make(chan struct{}), make(chan []time.Duration)
				go func() { took <- pings(b, others, done) }()
				begun, from := time.Now(), used(b, rdb)
				work()
				b.ReportMetric((used(b, rdb)-from)/keys, name+"-µs/key")
				b.ReportMetric(time.Since(begun).Seconds(), name+"-s")
				close(done)
				all := <-took
				for _, q := range []float64{0.5, 0.99, 1} {
					at := all[min(len(all)-1, int(q*float64(len(all))))]
					b.ReportMetric(float64(at.Microseconds()), fmt.Sprintf("%s-p%g-µs", name, 100*q))
				}
			}
			for b.Loop() {
				measure("scan", func() {
					for names := rdb.Scan(b.Context(), 0, "", 200).Iterator(); names.Next(b.Context()); { // with the COUNT of a survey
						continue
					}
				})
				for name, conn := range map[string]*cli.Conn{"ls": conn, "prefix": prefixed} {
					measure(name, func() {
						if err := survey.Locks(b.Context(), conn, survey.Query{}, func([]redislock.KeyState) error { return nil }); err != nil {
							b.Error(err)
						}
					})
				}
			}
		})
	}
}
