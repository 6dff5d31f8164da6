package fault_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A server's clock that jumps ahead ends leases there: two hold the key, until the first one asks Redis the next time. The
// second has the greater number.
func TestServerClockJumpsAhead(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		server, clock := redistest.StartSkewed(t, kind)
		w := world.New(t, server)
		ctx := t.Context()
		first := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a"), world.Long, world.Fenced()))
		watched := world.LockKinds[0].Hold(t, w.Client, w.Key("watched"), 6*time.Second, true)

		clock.Shift(time.Hour)
		second := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a"), world.Long, world.Fenced()))
		if !time.Now().Before(first.Deadline()) {
			t.Error("there are no two holders: the README says too much")
		}
		if second.Fence() <= first.Fence() {
			t.Errorf("got number %d after %d, want a greater one", second.Fence(), first.Fence())
		}
		check.Is(t, first.Refresh(ctx, world.Long), redislock.ErrLockNotHeld)
		check.Is(t, first.Release(ctx), redislock.ErrLockNotHeld)
		check.NoError(t, second.Release(ctx))
		watched.WantLost(t)
	})
}

// A server's clock that jumps back makes the locks of the dead last longer. Those who live release as ever, and numbers grow.
func TestServerClockJumpsBack(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		server, clock := redistest.StartSkewed(t, kind)
		w := world.New(t, server)
		ctx := t.Context()
		dead := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("dead"), world.Long, nil))
		alive := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("alive"), world.Long, world.Fenced()))

		clock.Shift(-time.Hour)
		left := check.Must[time.Duration](t)(w.RDB.PTTL(ctx, w.Key("dead")).Result())
		if left <= time.Hour {
			t.Errorf("the lock of a dead holder ends in %v: the README says too much", left)
		}
		if dead.Deadline().After(time.Now().Add(world.Long)) {
			t.Error("the holder takes its own lease for longer, too")
		}
		_, err := w.Client.Obtain(ctx, w.Keys("alive"), world.Long, nil)
		check.Is(t, err, redislock.ErrNotObtained)
		check.NoError(t, alive.Release(ctx))
		next := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("alive"), world.Long, world.Fenced()))
		if next.Fence() <= alive.Fence() {
			t.Errorf("got number %d after %d, want a greater one", next.Fence(), alive.Fence())
		}
		check.NoError(t, next.Release(ctx))
	})
}

// Who comes after the clock was set back stands behind those who came earlier, although its place is the server's time.
func TestServerClockSetBackKeepsTheLine(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		server, clock := redistest.StartSkewed(t, kind)
		w := world.New(t, server)
		turns := make(chan world.Turn, 4)
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		line := []string{"first", "second", "third", "fourth"}
		for i, who := range line {
			if i == 2 {
				clock.Shift(-time.Minute)
			}
			w.Wait(t.Context(), turns, who, w.Keys("a"), nil)
			w.InLine(t, w.Key("a"), i+1)
		}
		for _, who := range line {
			check.NoError(t, lock.Release(t.Context()))
			lock = world.WantTurn(t, turns, who)[0]
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// Until the clock has made up for a step back nobody is put between those who stand in line already. So who has waited for
// others of its Client, and enters then, stands behind those who came later than it.
func TestServerClockSetBackForgetsTheAge(t *testing.T) {
	t.Parallel()
	for shift, line := range map[time.Duration][]string{
		0:            {"first", "second", "later"},
		-time.Minute: {"first", "later", "second"},
	} {
		t.Run(shift.String(), func(t *testing.T) {
			redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
				server, clock := redistest.StartSkewed(t, kind)
				w := world.New(t, server)
				waiting := make(chan struct{}, 2)
				client := world.NewClient(t, server.Client(t), redislock.WithHooks(redislock.Hooks{
					Waiting: func(context.Context, redislock.Event) { waiting <- struct{}{} },
				}))
				turns := make(chan world.Turn, len(line))
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
				for _, who := range []string{"first", "second"} {
					go func() {
						lock, err := client.Obtain(t.Context(), w.Keys("a"), world.Long, world.Queue())
						turns <- world.Turn{Who: who, Lock: lock, Err: err}
					}()
					<-waiting
					w.InLine(t, w.Key("a"), 1)
				}
				// An age is as exact as the time is short that its request takes: "later" comes clearly later.
				time.Sleep(time.Second)
				clock.Shift(shift)
				w.Wait(t.Context(), turns, "later", w.Keys("a"), nil)
				w.InLine(t, w.Key("a"), 2)
				for i, who := range line {
					check.NoError(t, lock.Release(t.Context()))
					lock = world.WantTurn(t, turns, who)[0]
					w.InLine(t, w.Key("a"), len(line)-1-i) // the second has entered, too
				}
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}
