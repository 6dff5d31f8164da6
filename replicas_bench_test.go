package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// What an Obtain and its Release cost with a replica that has to have the lock, and with a server
// that is asked how long it has been up, against those of the primary alone. In turns, so that all
// have the same weather.
func BenchmarkAsked(b *testing.B) {
	primary := redistest.Start(b, redistest.Redis)
	redistest.Start(b, redistest.Redis, "--replicaof", "127.0.0.1", fmt.Sprint(primary.Port()))
	rdb := primary.Client(b)
	client := redislock.New(rdb)
	b.Cleanup(client.Close)
	patient := redislock.LinearBackoff(50 * time.Millisecond)
	works := map[string]*redislock.Options{
		"plain":   {RetryStrategy: patient},
		"replica": {RetryStrategy: patient, Replicas: 1},
		"uptime":  {RetryStrategy: patient, MinUptime: time.Millisecond},
	}
	spent := make(map[string]time.Duration)
	cycle := func(name string) {
		began := time.Now()
		lock, err := client.Obtain(b.Context(), []string{"bench:" + name}, 10*time.Second, works[name])
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
