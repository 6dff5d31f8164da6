package quorum_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// A taker obtains keys.
type taker func(ctx context.Context, keys []string, opt *redislock.Options) (interface{ Release(context.Context) error }, error)

// Obtain and release of one key, nobody else there: at one of five servers, and at a majority of
// them; and by how much longer that takes. In turns, so that all run under the same load; each ten times
// in a row, so that what is left to the background is paid by those who leave it there.
func BenchmarkQuorum(b *testing.B) {
	const ttl = 10 * time.Second
	nodes := make([]*redislock.Client, 5)
	for i := range nodes {
		nodes[i] = redislock.New(redistest.Start(b, redistest.Redis).Client(b))
		b.Cleanup(nodes[i].Close)
	}
	one := func(ctx context.Context, keys []string, opt *redislock.Options) (interface{ Release(context.Context) error }, error) {
		return nodes[0].Obtain(ctx, keys, ttl, opt)
	}
	several := func(n int) taker {
		client, err := quorum.New(nodes[:n])
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(client.Close)
		return func(ctx context.Context, keys []string, opt *redislock.Options) (interface{ Release(context.Context) error }, error) {
			return client.Obtain(ctx, keys, ttl, opt)
		}
	}
	watched, fenced := &redislock.Options{Watchdog: true}, &redislock.Options{Fenced: true}
	works := []struct {
		name string // of its key, too: what one leaves to the background is not in the way of another
		base string // what it is compared with
		take taker
		opt  *redislock.Options
	}{
		{"one", "one", one, nil},
		{"one/watchdog", "one", one, watched},
		{"one/fenced", "one", one, fenced},
		{"nodes=1", "one", several(1), nil},
		{"nodes=3", "one", several(3), nil},
		{"nodes=5", "one", several(5), nil},
		{"nodes=5/watchdog", "one/watchdog", several(5), watched},
		{"nodes=5/fenced", "one/fenced", several(5), fenced},
	}
	spent := make(map[string]time.Duration)
	for b.Loop() {
		for _, w := range works {
			began := time.Now()
			for range 10 {
				lock, err := w.take(b.Context(), []string{w.name}, w.opt)
				if err != nil {
					b.Fatal(err)
				}
				if err := lock.Release(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			spent[w.name] += time.Since(began)
		}
	}
	for _, w := range works {
		if w.base != w.name {
			b.ReportMetric(float64(spent[w.name])/float64(spent[w.base]), w.name+"÷"+w.base)
		}
	}
	b.ReportMetric(0, "ns/op")
}
