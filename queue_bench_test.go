package redislock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A rush is many who want one key again and again for a while.
type rush struct {
	turns    []int           // of each of them
	waits    []time.Duration // for each turn
	handOffs []time.Duration // Release called until the next Obtain returned
	commands int64
	took     time.Duration
}

func (r *rush) total() (n int) {
	for _, turns := range r.turns {
		n += turns
	}
	return n
}

// contend has n of them hold the key, one after the other, for so long each, until enough turns were had.
func contend(b *testing.B, rdb *redis.Client, client *redislock.Client, key string, n int, hold, lasts time.Duration) *rush {
	b.Helper()
	r := &rush{turns: make([]int, n)}
	count := &tally{}
	rdb.AddHook(count)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var released time.Time // who holds the lock has it alone
	began := time.Now()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for time.Since(began) < lasts {
				asked := time.Now()
				lock, err := client.Obtain(ctx, []string{key}, benchTTL, &redislock.Options{Queue: true})
				if err != nil {
					b.Error(err)
					return
				}
				got := time.Now()
				if !released.IsZero() {
					r.handOffs = append(r.handOffs, got.Sub(released))
				}
				r.waits = append(r.waits, got.Sub(asked))
				r.turns[i]++
				if hold > 0 {
					time.Sleep(hold)
				}
				released = time.Now()
				if err := lock.Release(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	r.took = time.Since(began)
	r.commands = count.n.Load()
	return r
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[len(d)/2]
}

func BenchmarkQueue(b *testing.B) {
	server := redistest.Shared(b, redistest.Redis)
	for _, hold := range []time.Duration{0, time.Millisecond} {
		for _, n := range []int{8, 64, 256} {
			b.Run(fmt.Sprintf("hold=%s/waiters=%d", hold, n), func(b *testing.B) {
				for b.Loop() {
					ping := server.Client(b)
					var pings []time.Duration
					for range 5000 {
						began := time.Now()
						ping.Ping(b.Context())
						pings = append(pings, time.Since(began))
					}
					rdb := server.Client(b)
					client := redislock.New(rdb)
					solo := contend(b, rdb, client, "solo", 1, hold, time.Second)
					rdb2 := server.Client(b)
					client2 := redislock.New(rdb2)
					r := contend(b, rdb2, client2, "rush", n, hold, 2*time.Second)
					perSolo := float64(solo.took) / float64(solo.total())
					per := float64(r.took) / float64(r.total())
					ho := median(r.handOffs)
					longest := slices.Max(r.waits)
					fair := time.Duration(n+1) * (hold + ho)
					b.ReportMetric(float64(median(pings).Microseconds()), "ping-µs")
					b.ReportMetric(float64(ho.Microseconds()), "hand-off-µs")
					b.ReportMetric(float64(ho)/float64(median(pings)), "hand-off÷ping")
					b.ReportMetric(perSolo/per, "throughput÷solo")
					b.ReportMetric(perSolo/1e3, "solo-µs")
					b.ReportMetric(per/1e3, "turn-µs")
					b.ReportMetric(float64(r.commands)/float64(r.total()), "commands/turn")
					b.ReportMetric(float64(slices.Max(r.turns)-slices.Min(r.turns)), "max-min")
					b.ReportMetric(float64(longest)/float64(fair), "longest÷fair")
					if stats := ping.Info(b.Context(), "commandstats").Val(); true {
						for _, line := range strings.Split(stats, "\n") {
							if strings.Contains(line, "evalsha") || strings.Contains(line, "publish") || strings.Contains(line, "ping") {
								b.Log(line)
							}
						}
						ping.ConfigResetStat(b.Context())
					}
					client.Close()
					client2.Close()
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

var _ = strings.Contains
