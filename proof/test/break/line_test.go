package break_test

import (
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A Break hands over in its own script: those who wait do not have to ask.
func TestBreakHandsOver(t *testing.T) {
	t.Parallel()
	world.InTurn(t, func(t *testing.T, w, other *world.World) {
		ctx, must, turns := t.Context(), check.Must[*redislock.Lock](t), make(chan world.Turn, 8)
		list := check.Must[[]redislock.Holder](t)

		must(w.Client.Obtain(ctx, w.Keys("a", "b"), world.Long, as("one")))
		must(w.Client.ObtainRead(ctx, w.Keys("c"), world.Long, as("two")))
		other.StandWith(ctx, t, turns, "writer", "AB", world.Queue())
		other.StandWith(ctx, t, turns, "reader", "b", world.Queue())
		other.StandWith(ctx, t, turns, "mixed", "Cb", world.Queue())
		other.StandWith(ctx, t, turns, "last", "C", world.Queue())
		world.WantNobody(t, turns)

		if n := len(list(w.Client.Break(ctx, w.Keys("a", "b", "c"), ""))); n != 3 {
			t.Errorf("got %d broken, want 3", n)
		}
		writer := world.WantTurn(t, turns, "writer")[0]
		world.WantNobody(t, turns)
		if got := broken(t, w, list(w.Client.Break(ctx, w.Keys("b"), ""))); len(got) != 1 {
			t.Errorf("got %q broken, want the writer alone", got)
		}
		both := world.WantTurnWithin(t, turns, world.Polled, "reader", "mixed") // for mixed, not all keys were named
		world.WantNobody(t, turns)
		check.Is(t, writer.Release(ctx), redislock.ErrLockNotHeld)
		for _, lock := range both {
			check.NoError(t, lock.Release(ctx))
		}
		check.NoError(t, world.WantTurn(t, turns, "last")[0].Release(ctx))
	})
}

// A waiter that wants a number is handed the keys, too, with a greater one.
func TestBreakHandsOverFenced(t *testing.T) {
	t.Parallel()
	world.InTurn(t, func(t *testing.T, w, other *world.World) {
		ctx, turns := t.Context(), make(chan world.Turn, 2)
		one := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a", "b"), world.Long, &redislock.Options{Fenced: true}))
		other.StandWith(ctx, t, turns, "next", "AB", &redislock.Options{Queue: true, Fenced: true})
		check.Must[[]redislock.Holder](t)(w.Client.Break(ctx, w.Keys("a", "b"), ""))
		next := world.WantTurn(t, turns, "next")[0]
		if next.Fence() <= one.Fence() {
			t.Errorf("got number %d after %d, want a greater one", next.Fence(), one.Fence())
		}
		check.NoError(t, next.Refresh(ctx, world.Long))
		check.NoError(t, next.Release(ctx))
	})
}

// Break does its work on a server that is full, and so does its hand-over.
func TestBreakOutOfMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	w := world.New(t, server)
	ctx, turns := t.Context(), make(chan world.Turn, 2)
	must := check.Must[*redislock.Lock](t)
	must(w.Client.Obtain(ctx, w.Keys("a", "b"), world.Long, as("one")))
	must(w.Client.ObtainRead(ctx, w.Keys("c"), world.Long, as("two")))
	w.StandWith(ctx, t, turns, "next", "AB", world.Queue())
	check.NoError(t, w.RDB.ConfigSet(ctx, "maxmemory", "1").Err())
	breaks(t, w, w.Keys("a", "b", "c"), "a write one", "b write one", "c read two")
	world.WantTurn(t, turns, "next")
	check.NoError(t, w.RDB.ConfigSet(ctx, "maxmemory", "0").Err())
}
