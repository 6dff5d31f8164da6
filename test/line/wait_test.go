package line_test

import (
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
		over := make(chan error, 1)
		go func() {
			_, err := w.Client.ObtainMixed(t.Context(), w.Keys("a"), w.Keys("b"), world.Long,
				&redislock.Options{Queue: true, Wait: time.Second, Metadata: "first"})
			over <- err
		}()
		w.InLine(t, w.Key("a"), 1)
		turns := make(chan world.Turn, 1)
		w.Wait(t.Context(), turns, "second", w.Keys("a"), nil)
		err, ok := check.Receive(over, 10*time.Second)
		if !ok {
			t.Fatal("its Wait does not end")
		}
		check.Is(t, err, redislock.ErrWaitOver, redislock.ErrNotObtained)
		if line := w.InLine(t, w.Key("a"), 1); line[0].Metadata != "second" {
			t.Errorf("%v stand in line", line)
		}
		w.InLine(t, w.Key("b"), 0)
		check.NoError(t, holder.Release(t.Context()))
		for _, lock := range world.WantTurn(t, turns, "second") {
			check.NoError(t, lock.Release(t.Context()))
		}
		world.WantNothing(t, w.RDB, w.Prefix)
	})
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
