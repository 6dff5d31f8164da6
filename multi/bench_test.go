package multi_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// Obtain and release on a Cluster, nobody else there: three keys of three slots, one on each
// server, and by how much longer that takes than three keys of one slot, and than one key. Beside it
// three locks taken by hand. In turns, so that all run under the same load.
func BenchmarkSlots(b *testing.B) {
	const ttl = 10 * time.Second
	cluster := redistest.StartCluster(b, redistest.Redis, 3, 0)
	rdb := cluster.Client(b, func(opt *redis.ClusterOptions) { opt.ReadTimeout = 3 * time.Second })
	client := redislock.New(rdb)
	b.Cleanup(client.Close)
	ctx := b.Context()

	together, apart := []string{"{foo}1", "{foo}2", "{foo}3"}, []string{"foo", "bar", "hello"}
	one := func(keys ...string) func() error {
		return func() error {
			lock, err := client.Obtain(ctx, keys, ttl, nil)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}
	}
	several := func(opt *redislock.Options) func() error {
		return func() error {
			lock, err := multi.Obtain(ctx, multi.BySlot(client, redislock.Set{Write: apart}), ttl, opt)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}
	}
	works := map[string]func() error{
		"slots=1": one(together...), "key=1": one("foo"),
		"slots=3": several(nil), "slots=3/watchdog": several(&redislock.Options{Watchdog: true}),
		"slots=3/by-hand": func() error { return byHand(ctx, client, apart, ttl) },
	}
	spent := make(map[string]time.Duration)
	for b.Loop() {
		for name, work := range works {
			began := time.Now()
			if err := work(); err != nil {
				b.Fatal(err)
			}
			spent[name] += time.Since(began)
		}
	}
	for _, name := range []string{"slots=3", "slots=3/watchdog", "slots=3/by-hand"} {
		for _, by := range []string{"slots=1", "key=1"} {
			b.ReportMetric(float64(spent[name])/float64(spent[by]), name+"÷"+by)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// byHand is what one would write without this package.
func byHand(ctx context.Context, client *redislock.Client, keys []string, ttl time.Duration) error {
	var locks []*redislock.Lock
	for _, key := range keys {
		lock, err := client.Obtain(ctx, []string{key}, ttl, nil)
		if err != nil {
			return err
		}
		locks = append(locks, lock)
	}
	for i := range locks {
		if err := locks[len(locks)-1-i].Release(ctx); err != nil {
			return err
		}
	}
	return nil
}
