package redislock_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/seed-14de3678/redislock"
)

var cad = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

func rdbB(b *testing.B) *redis.Client {
	r := redis.NewClient(&redis.Options{Addr: os.Getenv("RADDR")})
	b.Cleanup(func() { r.Close() })
	return r
}

func BenchmarkRaw1(b *testing.B) {
	ctx := context.Background()
	r := rdbB(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.SetArgs(ctx, "raw", "0123456789012345678901", redis.SetArgs{Mode: "NX", TTL: 10 * time.Second}).Err(); err != nil {
			b.Fatal(err)
		}
		if err := cad.Run(ctx, r, []string{"raw"}, "0123456789012345678901").Err(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLock(b *testing.B) {
	for _, n := range []int{1, 8, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx := context.Background()
			c := redislock.New(rdbB(b))
			var keys []string
			for i := range n {
				keys = append(keys, fmt.Sprint("k", i))
			}
			b.ReportAllocs()
			for b.Loop() {
				l, err := c.Obtain(ctx, keys, 10*time.Second, nil)
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Release(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func parallel(b *testing.B, g int, fn func(id int)) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	for i := range g {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				fn(i)
			}
		})
	}
	wg.Wait()
}

func BenchmarkPar(b *testing.B) {
	for _, g := range []int{1, 64, 512} {
		b.Run(fmt.Sprint("raw/", g), func(b *testing.B) {
			ctx := context.Background()
			r := rdbB(b)
			parallel(b, g, func(id int) {
				k := fmt.Sprint("raw", id)
				if err := r.SetArgs(ctx, k, "0123456789012345678901", redis.SetArgs{Mode: "NX", TTL: 10 * time.Second}).Err(); err != nil {
					b.Error(err)
				}
				if err := cad.Run(ctx, r, []string{k}, "0123456789012345678901").Err(); err != nil {
					b.Error(err)
				}
			})
		})
		b.Run(fmt.Sprint("lock/", g), func(b *testing.B) {
			ctx := context.Background()
			c := redislock.New(rdbB(b))
			parallel(b, g, func(id int) {
				l, err := c.Obtain(ctx, []string{fmt.Sprint("l", id)}, 10*time.Second, nil)
				if err != nil {
					b.Error(err)
					return
				}
				if err := l.Release(ctx); err != nil {
					b.Error(err)
				}
			})
		})
	}
}
