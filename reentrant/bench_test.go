package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// A further hold beside an Obtain and Release that ask Redis: what re-entry saves, and what it costs.
func BenchmarkObtainRelease(b *testing.B) {
	client := redislock.New(redistest.Shared(b, redistest.Redis).Client(b))
	b.Cleanup(client.Close)
	eight := []string{"bench:0", "bench:1", "bench:2", "bench:3", "bench:4", "bench:5", "bench:6", "bench:7"}
	opt := &redislock.Options{Watchdog: true}
	cycle := func(b *testing.B, ctx context.Context, keys []string, opt *redislock.Options) {
		b.Helper()
		b.ReportAllocs()
		for b.Loop() {
			hold, err := reentrant.Obtain(ctx, client, keys, 10*time.Second, opt)
			if err != nil {
				b.Fatal(err)
			}
			if err := hold.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, keys := range map[string][]string{"keys=1": eight[:1], "keys=8": eight} {
		b.Run(name+"/hold=first", func(b *testing.B) { cycle(b, reentrant.NewOwner(b.Context()), keys, opt) })
		for lease, opt := range map[string]*redislock.Options{"watchdog": opt, "none": nil} {
			b.Run(name+"/hold=nested/renewed="+lease, func(b *testing.B) {
				ctx := reentrant.NewOwner(b.Context())
				outer, err := reentrant.Obtain(ctx, client, keys, time.Minute, opt)
				if err != nil {
					b.Fatal(err)
				}
				defer outer.Release(ctx)
				cycle(b, ctx, keys, opt)
			})
		}
	}
}
