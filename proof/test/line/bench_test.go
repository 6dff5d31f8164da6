package line_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

const (
	contendedTTL = 10 * time.Second
	warmUp       = 300 * time.Millisecond // until connections are open and scripts are known
	contendedFor = 4 * time.Second
)

// A contention is many waiters that want one key again and again for a while.
type contention struct {
	waiters int
	hold    time.Duration
	options *redislock.Options

	turns      []int           // of each of them
	waits      []time.Duration // Obtain called until it returned, for each turn
	handOffs   []time.Duration // Release called until the next Obtain returned
	pings      []time.Duration // of somebody who does nothing else meanwhile, every millisecond
	roundTrips int64
	took       time.Duration
}

// run has the waiters hold the key, one after the other, each for the time hold.
func (r *contention) run(b *testing.B, server redistest.Backend, key string) *contention {
	b.Helper()
	rdb := server.Client(b)
	count := check.Count(rdb, "")
	client := redislock.New(rdb)
	defer client.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var measuring, over atomic.Bool
	var released time.Time // it is for who holds the lock
	r.turns = make([]int, r.waiters)
	var wg sync.WaitGroup
	for i := range r.waiters {
		wg.Go(func() {
			for !over.Load() {
				asked := time.Now()
				lock, err := client.Obtain(ctx, []string{key}, contendedTTL, r.options)
				if err != nil {
					b.Error(err)
					return
				}
				got := time.Now()
				if measuring.Load() && !over.Load() {
					r.waits = append(r.waits, got.Sub(asked))
					r.handOffs = append(r.handOffs, got.Sub(released))
					r.turns[i]++
				}
				hold(r.hold)
				released = time.Now()
				if err := lock.Release(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	time.Sleep(warmUp)
	began, sent := time.Now(), count.Load()
	measuring.Store(true)
	r.ping(server.Client(b), began.Add(contendedFor))
	over.Store(true)
	r.took, r.roundTrips = time.Since(began), count.Load()-sent
	wg.Wait()
	return r
}

// hold keeps a lock for a while. The timers of Go are rounded to a millisecond when the process has
// something else to do meanwhile; those of the system are not.
func hold(d time.Duration) {
	if d > 0 {
		ts := syscall.NsecToTimespec(int64(d))
		_ = syscall.Nanosleep(&ts, nil)
	}
}

func (r *contention) ping(rdb *redis.Client, until time.Time) {
	for time.Now().Before(until) {
		began := time.Now()
		_ = rdb.Ping(context.Background())
		r.pings = append(r.pings, time.Since(began))
		time.Sleep(time.Millisecond)
	}
}

// perTurn is how long a turn takes all in all.
func (r *contention) perTurn() time.Duration { return r.took / time.Duration(max(len(r.waits), 1)) }

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// Waiting in line, and beside it a caller that is alone, in one run: how long from a Release to the next Obtain,
// how many turns, how they are shared out, what they cost.
func BenchmarkQueue(b *testing.B) {
	server := redistest.Shared(b, redistest.Redis)
	queue := &redislock.Options{Queue: true}
	for _, held := range []time.Duration{0, time.Millisecond} {
		for _, n := range []int{8, 64, 256} {
			b.Run(fmt.Sprintf("hold=%s/waiters=%d", held, n), func(b *testing.B) {
				for b.Loop() {
					solo := (&contention{waiters: 1, hold: held, options: queue}).run(b, server, "solo")
					r := (&contention{waiters: n, hold: held, options: queue}).run(b, server, "contended")
					handOff, ping := median(r.handOffs), median(r.pings)
					fair := time.Duration(n+1) * (held + handOff)
					b.ReportMetric(float64(ping.Microseconds()), "ping-µs")
					b.ReportMetric(float64(handOff.Microseconds()), "hand-off-µs")
					b.ReportMetric(float64(handOff)/float64(ping), "hand-off÷ping")
					b.ReportMetric(float64(solo.perTurn())/float64(r.perTurn()), "throughput÷solo")
					b.ReportMetric(float64(r.roundTrips)/float64(len(r.waits)), "round-trips/turn")
					b.ReportMetric(float64(slices.Max(r.turns)-slices.Min(r.turns)), "max-min")
					b.ReportMetric(float64(slices.Max(r.waits))/float64(fair), "longest÷fair")
					b.ReportMetric(float64(slices.Sorted(slices.Values(r.waits))[len(r.waits)*999/1000])/float64(fair), "p999÷fair")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// The three ways to wait for a key that is held for a millisecond, by how many wait.
func BenchmarkWaiting(b *testing.B) {
	server := redistest.Shared(b, redistest.Redis)
	for _, by := range []struct {
		name    string
		options redislock.Options
	}{
		{"linear", redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)}},
		{"exponential", redislock.Options{RetryStrategy: redislock.ExponentialBackoff(time.Millisecond, 100*time.Millisecond)}},
		{"queue", redislock.Options{Queue: true}},
	} {
		for _, n := range []int{2, 8, 32, 64, 128, 256} {
			b.Run(fmt.Sprintf("by=%s/waiters=%d", by.name, n), func(b *testing.B) {
				for b.Loop() {
					r := (&contention{waiters: n, hold: time.Millisecond, options: &by.options}).run(b, server, "contended")
					b.ReportMetric(float64(r.roundTrips)/float64(len(r.waits)), "round-trips/turn")
					b.ReportMetric(float64(median(r.handOffs).Microseconds()), "hand-off-µs")
					b.ReportMetric(float64(slices.Max(r.turns)-slices.Min(r.turns)), "max-min")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// What a thousand waiters in line cost while nothing moves.
func BenchmarkStanding(b *testing.B) {
	const many, lasts = 1000, 10 * time.Second
	server := redistest.Shared(b, redistest.Redis)
	for b.Loop() {
		rdb := server.Client(b)
		count := check.Count(rdb, "")
		client := redislock.New(rdb)
		ctx, cancel := context.WithCancel(context.Background())
		key := []string{"standing"}
		holder, err := client.Obtain(ctx, key, time.Hour, nil)
		if err != nil {
			b.Fatal(err)
		}
		line := func() int {
			state, err := client.Inspect(ctx, key)
			if err != nil {
				b.Fatal(err)
			}
			return len(state[0].Line)
		}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var wg sync.WaitGroup
		for range many {
			wg.Go(func() { _, _ = client.Obtain(ctx, key, contendedTTL, &redislock.Options{Queue: true}) })
		}
		for line() < many {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		runtime.GC()
		runtime.ReadMemStats(&after)
		sent := count.Load()
		time.Sleep(lasts)
		b.ReportMetric(float64(count.Load()-sent)/lasts.Seconds(), "round-trips/s")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "heap-MiB")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/(1<<20), "stacks-MiB")
		subscribers := rdb.ClientList(ctx).Val()
		b.ReportMetric(float64(strings.Count(subscribers, "cmd=subscribe")), "subscribers")
		cancel()
		wg.Wait()
		_ = holder.Release(context.Background())
		client.Close()
	}
	b.ReportMetric(0, "ns/op")
}
