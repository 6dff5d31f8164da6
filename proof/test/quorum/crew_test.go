package quorum_test

import (
	"bytes"
	"context"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// A Close of a quorum Client does not wait until the Redis client gives up. The Close of the node does, and what a late
// answer has granted is free then, although the Redis client is of no use from that moment on.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	const gives = 6 * patience
	w := relayedBy(t, 3, func(opt *redis.Options) {
		impatient(opt)
		opt.ReadTimeout = gives
	})
	w.hurry(t, patience)
	w.hold(2)
	asked := make(chan struct{}, 100)
	w.relays[2].OnRequest(func(string, []string) { asked <- struct{}{} })
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
	wantAsked(t, asked)
	began := time.Now()
	w.client.Close()
	if took := time.Since(began); took > gives/2 {
		t.Errorf("Close took %v, want no more than the node time-out of %v", took, patience)
	}
	time.AfterFunc(10*time.Millisecond, func() { w.release(2) })
	w.nodes[2].Close()
	w.relays[2].Cut()
	w.relays[2].Refuse(true)
	w.relays[2].Cut()
	if n := must[int64](t)(w.rdbs[2].Exists(t.Context(), "k").Result()); n != 0 {
		t.Error("the key is left locked by a late answer")
	}
	w.relays[2].Refuse(false)
	noError(t, lock.Release(bounded(t)))
}

// A request to a node is sent by the goroutine that has asked for it: with the defaults of both, but not where the Redis
// client gives up much later.
func TestSentByWhoAsks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		timeout time.Duration
		want    bool
	}{
		"by default":                         {0, true},
		"the Redis client waits much longer": {900 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.StartMini(t)
			rdb := server.Client(t)
			node := redislock.New(rdb)
			client := must[*quorum.Client](t)(quorum.New([]*redislock.Client{node}, quorum.WithNodeTimeout(test.timeout)))
			closeAtEnd(t, client.Close)
			warm, err := node.Obtain(bounded(t), []string{"k"}, long, nil)
			noError(t, err)
			noError(t, warm.Release(bounded(t)))
			var all, ours atomic.Int64
			rdb.AddHook(check.Around{Before: func(redis.Cmder) {
				all.Add(1)
				if bytes.Contains(debug.Stack(), []byte("quorum.(*errand).run")) {
					ours.Add(1)
				}
			}})
			lock := must[*quorum.Lock](t)(client.Obtain(bounded(t), []string{"k"}, long, nil))
			noError(t, lock.Release(bounded(t)))
			want := map[bool]int64{true: 2}[test.want]
			if all, ours := all.Load(), ours.Load(); all != 2 || ours != want {
				t.Errorf("%d of %d commands were sent by a goroutine that has asked for it, want %d of 2", ours, all, want)
			}
		})
	}
}

// Obtain and Release of one key at five servers: what that allocates. Each of the servers costs some twenty
// allocations of its Client and of go-redis, which alone makes eight for two commands.
func TestAllocations(t *testing.T) {
	const most, runs = 155, 300
	nodes := make([]*redislock.Client, 5)
	for i := range nodes {
		nodes[i] = redislock.New(redistest.Start(t, redistest.Redis).Client(t))
		closeAtEnd(t, nodes[i].Close)
	}
	client := must[*quorum.Client](t)(quorum.New(nodes, quorum.WithNodeTimeout(10*time.Second))) // however busy the machine is
	closeAtEnd(t, client.Close)
	cycle := func() {
		lock, err := client.Obtain(context.Background(), []string{"k"}, long, nil)
		if err == nil {
			err = lock.Release(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	}
	for range runs {
		cycle() // what is used again is there
	}
	got := testing.AllocsPerRun(runs, cycle)
	t.Logf("%v allocations", got)
	if got > most+moreOfRace {
		t.Errorf("got %v allocations, want at most %d", got, most+moreOfRace)
	}
}
