package line_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A waiter whose Wait is over leaves its lines, and those behind it move up.
func TestWaitOverInLine(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		turns := make(chan world.Turn, 1)
		// The other one has to stand behind it before its Wait is over, which takes longer on a machine that is busy.
		for wait := time.Second; !overBeforeAnother(t, w, turns, wait); wait *= 2 {
			if wait > time.Minute {
				t.Fatal("nobody stands behind it in time")
			}
		}
		if line := w.InLine(t, w.Key("a"), 1); line[0].Metadata != "second" {
			t.Errorf("%v stand in line", line)
		}
		w.InLine(t, w.Key("b"), 0)
		check.NoError(t, holder.Release(t.Context()))
		for _, lock := range world.WantTurn(t, turns, "second") {
			check.NoError(t, lock.Release(t.Context()))
		}
		// On a machine that is busy a request may have had no answer in time, and then a guard stays.
		wantOnlyGuards(t, w.RDB, w.Prefix)
	})
}

// overBeforeAnother has a waiter stand in line until its Wait is over, and another one, "second", behind it. It reports false,
// and leaves no waiter, if that one came too late.
func overBeforeAnother(t *testing.T, w *world.World, turns chan world.Turn, wait time.Duration) bool {
	t.Helper()
	over := make(chan error, 1)
	go func() {
		_, err := w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a"), Read: w.Keys("b")}, world.Long,
			&redislock.Options{Queue: true, Wait: wait, Metadata: "first"})
		over <- err
	}()
	line := func() []redislock.Waiter {
		return check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("a")))[0].Line
	}
	check.Eventually(t, 10*time.Second, "it stands in line", func() bool { return len(line()) > 0 || len(over) > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w.Wait(ctx, turns, "second", w.Keys("a"), nil)
	behind := false
	check.Eventually(t, 10*time.Second, "another one stands in line", func() bool {
		all := line()
		behind = len(all) == 2 && all[0].Metadata == "first"
		return behind || len(over) > 0 && len(all) > 0
	})
	err, ok := check.Receive(over, wait+10*time.Second)
	if !ok {
		t.Fatal("its Wait does not end")
	}
	check.Is(t, err, redislock.ErrWaitOver)
	if behind = behind && !errors.Is(err, redislock.ErrUnknownOutcome); behind { // it was answered in time
		check.Is(t, err, redislock.ErrNotObtained)
	} else {
		cancel()
		check.Is(t, (<-turns).Err, context.Canceled)
		w.InLine(t, w.Key("a"), 0)
	}
	return behind
}

// What is handed over as the Wait ends is the waiter's, or is given back: nobody keeps a key that no Obtain has returned.
func TestWaitOverAtTheTurn(t *testing.T) {
	t.Parallel()
	b := redistest.Shared(t, redistest.Redis)
	w := world.New(t, b)
	got, gone := 0, 0
	for i := range 100 {
		holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		wait := 20 * time.Millisecond
		released := make(chan error, 1)
		time.AfterFunc(wait-2*time.Millisecond+time.Duration(i)*50*time.Microsecond, func() { released <- holder.Release(t.Context()) })
		lock, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{Queue: true, Wait: wait})
		if check.NoError(t, <-released); err != nil {
			check.Is(t, err, redislock.ErrWaitOver)
			gone++
		} else {
			got++
			check.NoError(t, lock.Release(t.Context()))
		}
		check.Eventually(t, 5*time.Second, "the key is free", func() bool {
			return check.Must[int64](t)(w.RDB.Exists(t.Context(), w.Key("a")).Result()) == 0
		})
	}
	t.Logf("%d had their turn, %d had gone", got, gone)
}
