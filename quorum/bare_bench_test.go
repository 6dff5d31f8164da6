package quorum_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

// What BenchmarkQuorum cannot do better than: SET NX PX and a compare-and-delete, written with go-redis
// alone, at one server, and at five of them at once on goroutines that run already.
func BenchmarkBare(b *testing.B) {
	const rounds = 10
	free := redis.NewScript(`return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0`)
	take := func(rdb *redis.Client) error { return rdb.SetNX(b.Context(), "k", "token", time.Minute).Err() }
	give := func(rdb *redis.Client) error { return free.Run(b.Context(), rdb, []string{"k"}, "token").Err() }

	var rdbs []*redis.Client
	done := make(chan error, 5)
	var asks []chan func(*redis.Client) error
	for range cap(done) {
		rdb, ask := redistest.Start(b, redistest.Redis).Client(b), make(chan func(*redis.Client) error)
		rdbs, asks = append(rdbs, rdb), append(asks, ask)
		b.Cleanup(func() { close(ask) })
		go func() {
			for do := range ask {
				done <- do(rdb)
			}
		}()
	}
	all := func(do func(*redis.Client) error) {
		for _, ask := range asks {
			ask <- do
		}
		for range asks {
			if err := <-done; err != nil {
				b.Error(err)
			}
		}
	}
	var one, five time.Duration
	for b.Loop() {
		began := time.Now()
		for range rounds {
			if err := take(rdbs[0]); err != nil {
				b.Fatal(err)
			}
			if err := give(rdbs[0]); err != nil {
				b.Fatal(err)
			}
		}
		between := time.Now()
		for range rounds {
			all(take)
			all(give)
		}
		one, five = one+between.Sub(began), five+time.Since(between)
	}
	b.ReportMetric(float64(five)/float64(one), "servers=5÷one")
	b.ReportMetric(0, "ns/op")
}
