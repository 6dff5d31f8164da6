package api_test

import (
	"context"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/reentrant"
)

// What is a lock, and what obtains one, as far as the compiler can say.
var (
	_ held.Fenced   = (*redislock.Lock)(nil)
	_ held.Fenced   = (*quorum.Lock)(nil)
	_ held.Lock     = (*multi.Lock)(nil)
	_ held.Lock     = (*reentrant.Hold)(nil)
	_ held.Obtainer = held.Of((*redislock.Client)(nil))
	_ held.Obtainer = held.Of((*quorum.Client)(nil))
	_ held.Obtainer = held.Of(redislock.Owner{})
	_ held.Obtainer = held.Of(quorum.Owner{})
)

// An Obtainer of a Client does what the Client does. With an error it returns no lock at all, and not one that is
// nil inside of an interface.
func TestObtainer(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		nodes := check.Must[*quorum.Client](t)(quorum.New([]*redislock.Client{w.Client}))
		t.Cleanup(nodes.Close)
		obtainers := map[string]held.Obtainer{
			"client": held.Of(w.Client),
			"quorum": held.Of(nodes),
		}
		for name, locks := range obtainers {
			t.Run(name, func(t *testing.T) { testObtainer(t, w, locks, name+":") })
		}
	})
}

func testObtainer(t *testing.T, w *world.World, locks held.Obtainer, prefix string) {
	t.Helper()
	ctx, one, two := t.Context(), w.Keys(prefix+"a"), w.Keys(prefix+"b")
	ways := map[string]func() (held.Lock, error){
		"Obtain":     func() (held.Lock, error) { return locks.Obtain(ctx, one, world.Long, nil) },
		"ObtainRead": func() (held.Lock, error) { return locks.ObtainRead(ctx, one, world.Long, nil) },
		"ObtainSet": func() (held.Lock, error) {
			return locks.ObtainSet(ctx, redislock.Set{Write: two, Read: one}, world.Long, nil)
		},
	}
	work := func(ctx context.Context) error {
		lock := held.FromContext(ctx)
		if lock == nil || len(lock.Keys()) != 1 || lock.Keys()[0] != one[0] {
			t.Errorf("got %T of the context, want the lock", lock)
		}
		return ctx.Err()
	}

	reader := check.Must[held.Lock](t)(locks.ObtainRead(ctx, one, world.Long, nil))
	for _, way := range []string{"ObtainRead", "ObtainSet"} {
		check.NoError(t, check.Must[held.Lock](t)(ways[way]()).Release(ctx))
	}
	check.NoError(t, reader.Release(ctx))
	check.NoError(t, locks.With(ctx, one, world.Long, nil, work))
	check.NoError(t, locks.WithSet(ctx, redislock.Set{Read: one}, world.Long, nil, work))

	holder := check.Must[held.Lock](t)(ways["Obtain"]())
	if got, is := holder.(held.Fenced); !is || got.Fence() != 0 {
		t.Errorf("got %T, want one that has a fencing number, which is 0", holder)
	}
	for name, obtain := range ways {
		lock, err := obtain()
		check.Is(t, err, redislock.ErrNotObtained)
		if lock != nil {
			t.Errorf("%s: got %T with an error, want no lock", name, lock)
		}
	}
	check.Is(t, locks.With(ctx, one, world.Long, nil, work), redislock.ErrNotObtained)
	check.Is(t, locks.WithSet(ctx, redislock.Set{Read: one}, world.Long, nil, work), redislock.ErrNotObtained)
	check.NoError(t, holder.Release(ctx))
}

// The innermost lock is found whichever package it is of, and nobody finds those that it is made of.
func TestHeldFromContext(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		nodes := check.Must[*quorum.Client](t)(quorum.New([]*redislock.Client{w.Client}))
		t.Cleanup(nodes.Close)
		ctx := t.Context()
		want := func(ctx context.Context, when string, innermost held.Lock, root *redislock.Lock) {
			t.Helper()
			if got := held.FromContext(ctx); got != innermost {
				t.Errorf("%s: got %T, want %T", when, got, innermost)
			}
			if got := redislock.FromContext(ctx); got != root {
				t.Errorf("%s: got the root lock of %q, want that of %q", when, got.Keys(), root.Keys())
			}
		}
		want(ctx, "nothing", nil, nil)
		ofRoot := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a"), world.Long, nil))
		ofQuorum := check.Must[*quorum.Lock](t)(nodes.Obtain(ctx, w.Keys("b"), world.Long, nil))
		ofMulti := check.Must[*multi.Lock](t)(multi.Obtain(ctx, multi.BySlot(w.Client, redislock.Set{Write: w.Keys("c", "d")}), world.Long, nil))
		owner := reentrant.NewOwner(ctx)
		ofOwner := check.Must[*reentrant.Hold](t)(reentrant.Obtain(owner, w.Client, w.Keys("e"), world.Long, nil))

		want(ofMulti.Context(ctx), "multi alone", ofMulti, nil)
		want(ofOwner.Context(ctx), "reentrant alone", ofOwner, nil)
		ctx = ofRoot.Context(ctx)
		want(ctx, "root", ofRoot, ofRoot)
		inner := ofQuorum.Context(ctx)
		want(inner, "quorum in root", ofQuorum, ofRoot)
		inner = ofMulti.Context(inner)
		want(inner, "multi in quorum in root", ofMulti, ofRoot)
		inner = ofOwner.Context(inner)
		want(inner, "reentrant in all of them", ofOwner, ofRoot)
		if quorum.FromContext(inner) != ofQuorum || multi.FromContext(inner) != ofMulti || reentrant.FromContext(inner) != ofOwner {
			t.Error("not each package finds its own lock")
		}
		again := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("f"), world.Long, nil))
		want(again.Context(inner), "root once more", again, again)
		for _, lock := range []held.Lock{ofRoot, ofQuorum, ofMulti, ofOwner, again} {
			check.NoError(t, lock.Release(owner))
		}
	})
}
