package quorum_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// Obtain and release of one key, nobody else there: at one of five servers, and at a majority of
// them; and by how much longer that takes. In turns, so that all have the same weather.
func BenchmarkQuorum(b *testing.B) {
	const ttl = 10 * time.Second
	nodes := make([]*redislock.Client, 5)
	for i := range nodes {
		nodes[i] = redislock.New(redistest.Start(b, redistest.Redis).Client(b))
		b.Cleanup(nodes[i].Close)
	}
	clients := make(map[int]*quorum.Client)
	for _, n := range []int{1, 3, 5} {
		client, err := quorum.New(nodes[:n])
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(client.Close)
		clients[n] = client
	}
	ctx, keys := b.Context(), []string{"k"}
	one := func(opt *redislock.Options) func() error {
		return func() error {
			lock, err := nodes[0].Obtain(ctx, []string{"one"}, ttl, opt)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}
	}
	several := func(n int, opt *redislock.Options) func() error {
		return func() error {
			lock, err := clients[n].Obtain(ctx, keys, ttl, opt)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}
	}
	watched, fenced := &redislock.Options{Watchdog: true}, &redislock.Options{Fenced: true}
	works := []struct {
		name string
		base string // what it is compared with
		work func() error
	}{
		{"one", "one", one(nil)},
		{"one/watchdog", "one", one(watched)},
		{"one/fenced", "one", one(fenced)},
		{"nodes=1", "one", several(1, nil)},
		{"nodes=3", "one", several(3, nil)},
		{"nodes=5", "one", several(5, nil)},
		{"nodes=5/watchdog", "one/watchdog", several(5, watched)},
		{"nodes=5/fenced", "one/fenced", several(5, fenced)},
	}
	for _, w := range works {
		if err := w.work(); err != nil {
			b.Fatal(err)
		}
	}
	spent := make(map[string]time.Duration)
	for b.Loop() {
		for _, w := range works {
			began := time.Now()
			if err := w.work(); err != nil {
				b.Fatal(err)
			}
			spent[w.name] += time.Since(began)
		}
	}
	for _, w := range works {
		if w.base != w.name {
			b.ReportMetric(float64(spent[w.name])/float64(spent[w.base]), w.name+"÷"+w.base)
		}
	}
	b.ReportMetric(float64(spent["one"].Microseconds())/float64(b.N), "µs/one")
	b.ReportMetric(float64(spent["nodes=5"].Microseconds())/float64(b.N), "µs/nodes=5")
	b.ReportMetric(0, "ns/op")
}
