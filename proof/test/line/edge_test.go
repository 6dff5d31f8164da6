package line_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// As long as live waiters stand in line, also while the key itself is free.
func TestQueueKeepsOthersOut(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		key := w.Key("k")
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
		turns := make(chan world.Turn, 1)
		w.Wait(t.Context(), turns, "first", []string{key}, nil)
		w.InLine(t, key, 1)
		check.NoError(t, w.RDB.Del(t.Context(), key).Err()) // of which nobody gets a message
		for _, obtain := range []func() (*redislock.Lock, error){
			func() (*redislock.Lock, error) { return w.Client.Obtain(t.Context(), []string{key}, world.Long, nil) },
			func() (*redislock.Lock, error) {
				return w.Client.ObtainRead(t.Context(), []string{key}, world.Long, nil)
			},
			func() (*redislock.Lock, error) {
				return w.Client.Obtain(t.Context(), []string{key, w.Key("other")}, world.Long, nil)
			},
		} {
			_, err := obtain()
			conflict := world.WantConflict(t, err, key, redislock.ModeQueue)
			if conflict.Metadata != "first" {
				t.Errorf("got metadata %q, want that of the first in line", conflict.Metadata)
			}
		}
		got, ok := check.Receive(turns, world.Polled)
		if !ok {
			t.Fatal("the first in line has not asked")
		}
		check.NoError(t, got.Err)
		check.NoError(t, got.Lock.Release(t.Context()))
		w.WantNoTrace(t, key)
	})
}

func TestQueueForeign(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"hash", "list", "string"} {
		t.Run(kind, func(t *testing.T) {
			world.Scenario(t, func(t *testing.T, w *world.World) {
				key := w.Key("k")
				check.NoError(t, map[string]func() error{
					"hash":   func() error { return w.RDB.HSet(t.Context(), key, "f", "v").Err() },
					"list":   func() error { return w.RDB.RPush(t.Context(), key, "v").Err() },
					"string": func() error { return w.RDB.Set(t.Context(), key, "v", 0).Err() },
				}[kind]())
				turns := make(chan world.Turn, 1)
				w.Wait(t.Context(), turns, "a", []string{key}, nil)
				w.InLine(t, key, 1)
				world.WantNobody(t, turns)
				check.NoError(t, w.RDB.Del(t.Context(), key).Err())
				got, ok := check.Receive(turns, world.Polled)
				if !ok {
					t.Fatal("it has not asked again")
				}
				check.NoError(t, got.Err)
				check.NoError(t, got.Lock.Release(t.Context()))
				w.WantNoTrace(t, key)
			})
		})
	}
}

// The largest sets must not hold the server up, whoever waits, gives up, or is handed over to.
func TestQueueManyKeys(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1000, 10000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, redistest.Redis)
			w := world.New(t, s, redislock.WithMaxKeys(n))
			w.Prefix = "k"
			keys := world.Numbered(w.Key(""), n)
			last := keys[n-1]
			const most = 30 * time.Second
			quick := func(what string, do func()) {
				t.Helper()
				watch := check.StartWatch(t)
				do()
				if took := watch.Took(); took > most { // if it grew with the square of n
					t.Errorf("%s took %v", what, took)
				}
			}
			turns := make(chan world.Turn, 3)
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{last}, world.Long, nil))
			ctx, cancel := context.WithCancel(t.Context())
			quick("to enter the line", func() {
				w.Wait(t.Context(), turns, "a", keys, nil)
				w.InLine(t, last, 1)
				w.Wait(ctx, turns, "cancelled", keys, nil)
				w.InLine(t, last, 2)
				w.Wait(t.Context(), turns, "b", append(keys[1:n:n], w.Key("more")), nil)
				w.InLine(t, last, 3)
			})
			quick("to give up", func() {
				cancel()
				check.Is(t, (<-turns).Err, context.Canceled)
				w.InLine(t, last, 2)
				w.InLine(t, keys[0], 1)
			})
			var a, b *redislock.Lock
			quick("to hand one key over", func() {
				check.NoError(t, holder.Release(t.Context()))
				a = world.WantTurnWithin(t, turns, most, "a")[0]
			})
			quick("to hand all over", func() {
				check.NoError(t, a.Release(t.Context()))
				b = world.WantTurnWithin(t, turns, most, "b")[0]
			})
			quick("to release", func() { check.NoError(t, b.Release(t.Context())) })
			wantOnlyGuards(t, w.RDB, "") // go-redis may send again what takes long
		})
	}
}

func TestQueueToken(t *testing.T) {
	t.Parallel()
	wait := func(t *testing.T, w *world.World, turns chan<- world.Turn, token string, keys ...string) {
		t.Helper()
		go func() {
			lock, err := w.Client.As(token).Obtain(t.Context(), keys, world.Long, world.Queue())
			turns <- world.Turn{Who: token, Lock: lock, Err: err}
		}()
	}
	t.Run("waits twice for one key: both have it", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			key, token := w.Key("k"), w.Key("job")
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
			turns := make(chan world.Turn, 2)
			wait(t, w, turns, token, key)
			w.InLine(t, key, 1)
			wait(t, w, turns, token, key)
			w.InLine(t, key, 2)
			check.NoError(t, holder.Release(t.Context()))
			for range 2 {
				got, ok := check.Receive(turns, world.Soon) // a Client has the other waits of a token ask when one has ended
				if !ok {
					t.Fatal("the token has it, and one of its waits goes on")
				}
				check.NoError(t, got.Err)
				defer func() { _ = got.Lock.Release(context.WithoutCancel(t.Context())) }()
			}
			w.WantFree(t, "redislock:line:{"+key+"}")
		})
	})
	t.Run("gives up one of two waits: the other goes on", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			key, token := w.Key("k"), w.Key("job")
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
			turns := make(chan world.Turn, 1)
			wait(t, w, turns, token, key)
			w.InLine(t, key, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := w.Client.As(token).Obtain(ctx, []string{key}, world.Long, world.Queue())
				ended <- err
			}()
			w.InLine(t, key, 2)
			cancel()
			check.Is(t, <-ended, context.Canceled)
			w.InLine(t, key, 1)
			check.NoError(t, holder.Release(t.Context()))
			lock := world.WantTurn(t, turns, token)[0]
			check.NoError(t, lock.Refresh(t.Context(), world.Long))
			check.NoError(t, lock.Release(t.Context()))
			noTraceSoon(t, w, key)
		})
	})
	t.Run("waits for two keys: it does not stand in its own way to one", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			a, b, token := w.Key("a"), w.Key("b"), w.Key("job")
			other := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{b}, world.Long, nil))
			turns := make(chan world.Turn, 1)
			wait(t, w, turns, token, a, b)
			w.InLine(t, a, 1)

			one := check.Must[*redislock.Lock](t)(w.Client.As(token).Obtain(t.Context(), []string{a}, world.Long, nil))
			check.NoError(t, other.Release(t.Context()))
			both := world.WantTurn(t, turns, token)[0]
			check.NoError(t, one.Refresh(t.Context(), world.Long))
			check.NoError(t, both.Release(t.Context()))
			noTraceSoon(t, w, a, b)
		})
	})
	t.Run("waits for more than it holds, while others wait for that", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			a, b, token := w.Key("a"), w.Key("b"), w.Key("job")
			mine := check.Must[*redislock.Lock](t)(w.Client.As(token).Obtain(t.Context(), []string{a}, world.Long, world.Queue()))
			other := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{b}, world.Long, nil))
			turns := make(chan world.Turn, 2)
			w.Wait(t.Context(), turns, "next", []string{a}, nil)
			w.InLine(t, a, 1)
			wait(t, w, turns, token, a, b)
			w.InLine(t, b, 1)
			check.NoError(t, other.Release(t.Context()))
			both := world.WantTurn(t, turns, token)[0]
			check.NoError(t, mine.Refresh(t.Context(), world.Long))
			check.NoError(t, both.Release(t.Context()))
			check.NoError(t, world.WantTurn(t, turns, "next")[0].Release(t.Context()))
			noTraceSoon(t, w, a, b)
		})
	})
}
