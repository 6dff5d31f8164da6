package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

const benchTTL = 10 * time.Second

// rawToken is as long as the tokens of this package.
const rawToken = "0123456789012345678901"

// raw locks keys one by one: SET NX PX, then a compare-and-delete script.
type raw struct {
	rdb     *redis.Client
	release *redis.Script
}

func newRaw(rdb *redis.Client) raw {
	return raw{rdb, redis.NewScript(
		`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)}
}

func (r raw) cycle(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := r.rdb.SetArgs(ctx, key, rawToken, redis.SetArgs{Mode: "NX", TTL: benchTTL}).Err(); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if err := r.release.Run(ctx, r.rdb, []string{key}, rawToken).Err(); err != nil {
			return err
		}
	}
	return nil
}

func lockCycle(ctx context.Context, client *redislock.Client, keys ...string) error {
	return lockCycleWith(ctx, client, nil, keys...)
}

func lockCycleWith(ctx context.Context, client *redislock.Client, opt *redislock.Options, keys ...string) error {
	lock, err := client.Obtain(ctx, keys, benchTTL, opt)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}

// somewhere makes n keys.
func somewhere(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint(prefix, ":", i)
	}
	return keys
}

// Obtain and release, nobody else there.
func BenchmarkAlone(b *testing.B) {
	server := redistest.Shared(b, redistest.Redis)
	for name, work := range alone(b, server.Client(b)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := work(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The same side by side, in turns, so that both sides run under the same load: how many times as
// long each takes as what it is measured by.
func BenchmarkAloneInTurns(b *testing.B) {
	server := redistest.Shared(b, redistest.Redis)
	works := alone(b, server.Client(b))
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
	for name, by := range map[string]string{
		"keys=1/by=redislock": "keys=1/by=raw", "keys=1/by=redislock-queue": "keys=1/by=redislock", "keys=1/by=redislock-cancellable": "keys=1/by=raw",
		"keys=8/by=redislock": "keys=1/by=redislock", "keys=1000/by=redislock": "keys=1/by=redislock",
	} {
		b.ReportMetric(float64(spent[name])/float64(spent[by]), name+"÷"+by)
	}
	b.ReportMetric(0, "ns/op")
}

// alone returns what one goroutine does by itself. A caller whose context can end pays two changes
// of goroutine, so that it need not wait for a server that hangs.
func alone(tb testing.TB, rdb *redis.Client) map[string]func() error {
	tb.Helper()
	endless, mayEnd := context.Background(), tb.Context()
	r, client := newRaw(rdb), redislock.New(rdb)
	one, eight, thousand := somewhere("alone1", 1), somewhere("alone8", 8), somewhere("alone1000", 1000)
	return map[string]func() error{
		"keys=1/by=raw":                   func() error { return r.cycle(endless, one...) },
		"keys=1/by=redislock":             func() error { return lockCycle(endless, client, one...) },
		"keys=1/by=redislock-cancellable": func() error { return lockCycle(mayEnd, client, one...) },
		"keys=1/by=redislock-queue": func() error {
			return lockCycleWith(endless, client, &redislock.Options{Queue: true}, one...)
		},
		"keys=8/by=redislock":    func() error { return lockCycle(endless, client, eight...) },
		"keys=1000/by=redislock": func() error { return lockCycle(endless, client, thousand...) },
	}
}

// What is measured does what it is to do: it locks, and then nothing is locked any more.
func TestAlone(t *testing.T) {
	rdb := redistest.Shared(t, redistest.Redis).Client(t)
	for name, work := range alone(t, rdb) {
		for range 2 {
			if err := work(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if left := rdb.Keys(t.Context(), "alone*").Val(); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

// Many goroutines of one client, each on keys of its own.
func BenchmarkTogether(b *testing.B) {
	server := redistest.Shared(b, redistest.Redis)
	for _, size := range []struct{ goroutines, keys int }{{1, 1}, {64, 1}, {512, 1}, {64, 8}} {
		name := fmt.Sprintf("goroutines=%d/keys=%d/by=", size.goroutines, size.keys)
		b.Run(name+"raw", func(b *testing.B) {
			r := newRaw(server.Client(b))
			together(b, size.goroutines, size.keys, r.cycle)
		})
		b.Run(name+"redislock", func(b *testing.B) {
			client := redislock.New(server.Client(b))
			together(b, size.goroutines, size.keys, func(ctx context.Context, keys ...string) error {
				return lockCycle(ctx, client, keys...)
			})
		})
		b.Run(name+"redislock-unbatched", func(b *testing.B) {
			client := redislock.New(struct{ *redis.Client }{server.Client(b)}) // whose type is not known
			together(b, size.goroutines, size.keys, func(ctx context.Context, keys ...string) error {
				return lockCycle(ctx, client, keys...)
			})
		})
	}
}

// together has goroutines share the iterations of a benchmark.
func together(b *testing.B, goroutines, keys int, work func(context.Context, ...string) error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for id := range goroutines {
		wg.Go(func() {
			mine := somewhere(fmt.Sprint("together:", id), keys)
			for left.Add(-1) >= 0 {
				if err := work(context.Background(), mine...); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Ten thousand locks with a ttl of 30 s and a watchdog, over a round of renewals: what they cost
// the client. One iteration takes a good ten seconds.
func BenchmarkWatched(b *testing.B) {
	const locks, ttl = 10000, 30 * time.Second
	server := redistest.Shared(b, redistest.Redis)
	for range b.N {
		client := redislock.New(server.Client(b))
		ctx := context.Background()
		keys := somewhere("watched", locks)
		held := make([]*redislock.Lock, locks)
		goroutines := runtime.NumGoroutine()
		heap := heapInUse()
		for i := range held {
			lock, err := client.Obtain(ctx, keys[i:i+1], ttl, &redislock.Options{Watchdog: true})
			if err != nil {
				b.Fatal(err)
			}
			held[i] = lock
		}
		perLock := float64(heapInUse()-heap) / locks
		began, used := time.Now(), cpuUsed()
		most := 0
		for time.Since(began) < ttl/3+time.Second {
			most = max(most, runtime.NumGoroutine()-goroutines)
			time.Sleep(20 * time.Millisecond)
		}
		share := float64(cpuUsed()-used) / float64(time.Since(began))
		b.ReportMetric(100*share, "%core")
		b.ReportMetric(perLock, "B/lock")
		b.ReportMetric(float64(most), "goroutines")
		b.ReportMetric(0, "ns/op")
		for _, lock := range held {
			if err := lock.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
		client.Close()
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpuUsed returns the processor time of this process so far.
func cpuUsed() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// What an Obtain and its Release cost with a replica that has to have the lock, and with a server
// that is asked how long it has been up, against those of the primary alone. In turns, so that all
// run under the same load.
func BenchmarkAsked(b *testing.B) {
	primary := redistest.Start(b, redistest.Redis)
	redistest.Start(b, redistest.Redis, "--replicaof", "127.0.0.1", fmt.Sprint(primary.Port()))
	const ttl = 5 * time.Second // of which a server has to have been up for as long
	rdb := primary.Client(b)
	works := map[string]*redislock.Client{
		"plain":   redislock.New(rdb),
		"replica": redislock.New(rdb, redislock.WithReplicas(1)),
		"uptime":  redislock.New(rdb, redislock.WithMinUptime(ttl)),
	}
	for _, client := range works {
		b.Cleanup(client.Close)
	}
	patient := &redislock.Options{RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond)}
	spent := make(map[string]time.Duration)
	cycle := func(name string) {
		began := time.Now()
		lock, err := works[name].Obtain(b.Context(), []string{"bench:" + name}, ttl, patient)
		if err != nil {
			b.Fatal(err)
		}
		if err := lock.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
		spent[name] += time.Since(began)
	}
	for name := range works { // until the replica is there, and the server has been up
		cycle(name)
	}
	clear(spent)
	for b.Loop() {
		for name := range works {
			cycle(name)
		}
	}
	for _, name := range []string{"replica", "uptime"} {
		b.ReportMetric(float64(spent[name])/float64(spent["plain"]), name+"÷plain")
	}
	b.ReportMetric(0, "ns/op")
}
