package cost_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Who waits behind others of its Client has a goroutine and little else: a stack of 4 KiB, which is twice what Go begins with, and
// 2 KiB that it waits with; 3 KiB if the first of them was slow, so that it stands in Redis by itself.
func TestWaiterIsLight(t *testing.T) {
	if moreOfRace > 0 {
		t.Skip("the race detector makes stacks larger")
	}
	const callers, most = 500, 8 << 10
	var waiting atomic.Int64
	c := world.NewClient(t, redistest.Start(t, redistest.Redis).Client(t), redislock.WithHooks(redislock.Hooks{
		Waiting: func(context.Context, redislock.Event) { waiting.Add(1) },
	}))
	ctx, cancel := context.WithCancel(t.Context())
	check.Must[*redislock.Lock](t)(c.Obtain(ctx, []string{"k"}, world.Long, nil))
	before := inUse()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if _, err := c.Obtain(ctx, []string{"k"}, world.Long, world.Queue()); err == nil {
				t.Error("got the key, want to wait for it")
			}
		})
	}
	check.Eventually(t, world.Soon, "all wait", func() bool { return waiting.Load() == callers })
	each := (inUse() - before) / callers
	cancel()
	all.Wait()
	t.Logf("each waiter has %d bytes, at most %d", each, most)
	if each > most {
		t.Errorf("each waiter has %d bytes, want at most %d", each, most)
	}
}

// inUse is the memory that the process uses, with stacks, and without what could be collected.
func inUse() int64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.GC() // what had a finalizer in the first is collected in the second
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc + memory.StackInuse)
}
