package quick_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestQueue(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		key := w.Key("k")
		holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, world.Queue()))
		turns := make(chan world.Turn, 10)
		for i := range 5 {
			w.Wait(t.Context(), turns, fmt.Sprint(i), []string{key}, nil)
			w.InLine(t, key, i+1)
		}
		for i := range 5 {
			world.WantNobody(t, turns)
			check.NoError(t, holder.Release(t.Context()))
			holder = world.WantTurn(t, turns, fmt.Sprint(i))[0]
		}
		check.NoError(t, holder.Release(t.Context()))
		w.WantNoTrace(t, key)
	})
}

// goesOn is for how long an Obtain may go on when its context has ended. On a machine that is busy for longer it leaves the
// line in the background.
const goesOn = 100 * time.Millisecond

func TestQueueEndsWithContext(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		key := w.Key("k")
		holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		closed := errors.New("the shop is closed")
		turns := make(chan world.Turn, 1)
		w.Wait(ctx, turns, "a", []string{key}, nil)
		w.InLine(t, key, 1)
		ended := time.Now()
		cancel(closed)
		got := <-turns
		took := time.Since(ended)
		check.Is(t, got.Err, closed)
		if !errors.Is(got.Err, redislock.ErrUnknownOutcome) || took < goesOn {
			world.WantConflict(t, got.Err, key, redislock.ModeWrite)
		}
		if took < goesOn { // it has left the line
			w.WantFree(t, "redislock:line:{"+key+"}")
		}
		w.InLine(t, key, 0)
		check.NoError(t, holder.Release(t.Context()))
		if took < goesOn {
			w.WantNoTrace(t, key)
		} else {
			w.OnlyGuardsSoon(t, key)
		}
	})
}

// A waiter that gives up returns as soon as it is known that it has left the line.
func TestQueueIsLeftAtOnce(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("k"), world.Long, nil))
		ctx, cancel := context.WithCancel(t.Context())
		turns := make(chan world.Turn, 1)
		w.Wait(ctx, turns, "a", w.Keys("k"), nil)
		synctest.Wait()
		began := time.Now()
		cancel()
		got := <-turns
		if took := time.Since(began); took > 0 || !errors.Is(got.Err, redislock.ErrNotObtained) {
			t.Errorf("it has returned after %v, with error %v", took, got.Err)
		}
		w.WantFree(t, "redislock:line:{"+w.Key("k")+"}")
	})
}

func TestQueueOverlapping(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		a, b, c := w.Key("a"), w.Key("b"), w.Key("c")
		first := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{a, b}, world.Long, world.Queue()))
		turns := make(chan world.Turn, 10)
		w.Wait(t.Context(), turns, "bc", []string{b, c}, nil)
		w.InLine(t, c, 1)
		w.Wait(t.Context(), turns, "ac", []string{a, c}, nil)
		w.InLine(t, c, 2)
		w.Wait(t.Context(), turns, "c", []string{c}, nil)
		w.InLine(t, c, 3)
		_, err := w.Client.Obtain(t.Context(), []string{c}, world.Long, nil)
		world.WantConflict(t, err, c, redislock.ModeQueue)
		check.NoError(t, first.Release(t.Context()))
		bc := world.WantTurn(t, turns, "bc")[0]
		world.WantNobody(t, turns)
		check.NoError(t, bc.Release(t.Context()))
		ac := world.WantTurn(t, turns, "ac")[0]
		world.WantNobody(t, turns)
		check.NoError(t, ac.Release(t.Context()))
		check.NoError(t, world.WantTurn(t, turns, "c")[0].Release(t.Context()))
		w.WantNoTrace(t, a, b, c)
	})
}

func TestQueueReaders(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		key := w.Key("k")
		holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, world.Queue()))
		turns := make(chan world.Turn, 10)
		for i, who := range []string{"r1", "r2", "w1", "r3", "r4"} {
			write, read := []string(nil), []string{key}
			if who[0] == 'w' {
				write, read = read, nil
			}
			w.Wait(t.Context(), turns, who, write, read)
			w.InLine(t, key, i+1)
		}
		check.NoError(t, holder.Release(t.Context()))
		readers := world.WantTurn(t, turns, "r1", "r2")
		world.WantNobody(t, turns)
		check.NoError(t, readers[0].Release(t.Context()))
		world.WantNobody(t, turns)
		check.NoError(t, readers[1].Release(t.Context()))
		writer := world.WantTurn(t, turns, "w1")[0]
		world.WantNobody(t, turns)
		check.NoError(t, writer.Downgrade(t.Context()))
		readers = world.WantTurn(t, turns, "r3", "r4")
		check.NoError(t, readers[0].Release(t.Context()))
		check.NoError(t, readers[1].Release(t.Context()))
		check.NoError(t, writer.Release(t.Context()))
		w.WantNoTrace(t, key)
	})
}

// "k" and "{k}" are in one slot, and yet have nothing in common.
func TestQueueKeysOfOneTag(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		plain := w.Key("k")
		tagged := "{" + plain + "}"
		holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{tagged}, world.Long, nil))
		other := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{plain}, world.Long, nil))
		turns := make(chan world.Turn, 1)
		w.Wait(t.Context(), turns, "a", []string{tagged}, nil)
		w.InLine(t, tagged, 1)
		check.NoError(t, other.Release(t.Context()))
		world.WantNobody(t, turns)
		w.WantFree(t, plain)
		check.NoError(t, holder.Release(t.Context()))
		check.NoError(t, world.WantTurn(t, turns, "a")[0].Release(t.Context()))
		w.WantFree(t, plain, tagged)
	})
}

// Who waits behind others of its Client has a goroutine and little else: a stack of 4 KiB, which is twice what Go begins with, and
// 2 KiB that it waits with; 3 KiB if the first of them was slow, so that it stands in Redis by itself.
func TestWaiterIsLight(t *testing.T) {
	const callers = 500
	most := int64(8 << 10)
	if info, _ := debug.ReadBuildInfo(); slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		most *= 2 // its stacks are larger
	}
	var waiting atomic.Int64
	c := world.NewClient(t, redistest.Start(t, redistest.Redis).Client(t), redislock.WithHooks(redislock.Hooks{
		Waiting: func(context.Context, redislock.Event) { waiting.Add(1) },
	}))
	ctx, cancel := context.WithCancel(t.Context())
	check.Must[*redislock.Lock](t)(c.Obtain(ctx, []string{"k"}, world.Long, nil))
	before := check.InUse()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if _, err := c.Obtain(ctx, []string{"k"}, world.Long, world.Queue()); err == nil {
				t.Error("got the key, want to wait for it")
			}
		})
	}
	check.Eventually(t, world.Soon, "all wait", func() bool { return waiting.Load() == callers })
	now := check.InUse()
	each := (int64(now.HeapAlloc+now.StackInuse) - int64(before.HeapAlloc+before.StackInuse)) / callers
	cancel()
	all.Wait()
	t.Logf("each waiter has %d bytes, at most %d", each, most)
	if each > most {
		t.Errorf("each waiter has %d bytes, want at most %d", each, most)
	}
}
