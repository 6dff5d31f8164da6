package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// What one slow node of three costs: each operation the first time, and on average afterwards, in
// milliseconds. A held key is somebody else's at both of the other nodes, a split key at one of them:
// then the slow node is needed.
func BenchmarkSlowNode(b *testing.B) {
	for _, timeout := range []time.Duration{0, 100 * time.Millisecond} {
		for _, away := range []time.Duration{0, 20 * time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond, -1} {
			name := fmt.Sprint("away=", away)
			if away < 0 {
				name = "hangs"
			}
			b.Run(fmt.Sprint("timeout=", timeout, "/", name), func(b *testing.B) { slowNode(b, timeout, away) })
		}
	}
}

func slowNode(b *testing.B, timeout, away time.Duration) {
	b.Helper()
	const ttl = 10 * time.Second
	nodes := make([]*redislock.Client, 3)
	var relay *redistest.Relay
	for i := range nodes {
		server := redistest.Start(b, redistest.Redis)
		rdb := server.Client(b)
		if i < 2 {
			plain := redislock.New(rdb)
			defer plain.Close()
			keys := []string{"held", "split"}[:2-i]
			if _, err := plain.Obtain(b.Context(), keys, time.Hour, nil); err != nil {
				b.Fatal(err)
			}
		} else {
			relay = redistest.NewRelay(b, server.Addr())
			rdb = relay.Client(b, neverGivesUp)
		}
		nodes[i] = redislock.New(rdb)
		defer nodes[i].Close()
	}
	client, err := quorum.New(nodes, quorum.WithNodeTimeout(timeout))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	warm, err := client.Obtain(b.Context(), []string{"warm"}, ttl, nil)
	if err != nil {
		b.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if warm.Refresh(b.Context(), ttl) != nil || warm.Release(b.Context()) != nil {
		b.Fatal("it does not work")
	}
	time.Sleep(100 * time.Millisecond)
	if away >= 0 {
		relay.DelayRequests(away / 2)
		relay.DelayReplies(away / 2)
	} else {
		relay.HoldRequests()
	}

	spent, times := make(map[string]time.Duration), make(map[string]int)
	took := func(what string, first bool, do func(ctx context.Context) error) bool {
		began := time.Now()
		err := do(b.Context())
		if first {
			what = "first-" + what
		}
		spent[what] += time.Since(began)
		times[what]++
		return err == nil
	}
	var lock *quorum.Lock
	round := func(first bool) {
		obtain := func(key string) func(context.Context) error {
			return func(ctx context.Context) (err error) {
				lock, err = client.Obtain(ctx, []string{key}, ttl, nil)
				return err
			}
		}
		if took("obtain", first, obtain("k")) {
			took("refresh", first, func(ctx context.Context) error { return lock.Refresh(ctx, ttl) })
			took("release", first, func(ctx context.Context) error { return lock.Release(ctx) })
		}
		if took("obtain", first, obtain("l")) {
			time.Sleep(2 * max(away, 0)) // now it has all three, if it can
			took("ttl", first, func(ctx context.Context) error { _, err := lock.TTL(ctx); return err })
			took("release3", first, func(ctx context.Context) error { return lock.Release(ctx) })
		}
		if took("held", first, obtain("held")) {
			b.Fatal("it was obtained")
		}
		if took("split", first, obtain("split")) {
			took("splitrelease", first, func(ctx context.Context) error { return lock.Release(ctx) })
		}
		time.Sleep(2 * max(away, 0)) // what is left of it has arrived
	}
	round(true)
	for b.Loop() {
		round(false)
	}
	for what, d := range spent {
		b.ReportMetric(d.Seconds()*1000/float64(times[what]), what+"-ms")
	}
	b.ReportMetric(0, "ns/op")
	relay.ReleaseRequests()
	relay.DelayRequests(0)
	relay.DelayReplies(0)
}
