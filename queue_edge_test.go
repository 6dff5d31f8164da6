package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// As long as live waiters stand in line, also while the key itself is free.
func TestQueueKeepsOthersOut(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		key := w.key("k")
		must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
		turns := make(chan turn, 1)
		w.wait(t.Context(), turns, "first", []string{key}, nil)
		w.inLine(t, key, 1)
		noError(t, w.rdb.Del(t.Context(), key).Err()) // which nobody is told
		for _, obtain := range []func() (*redislock.Lock, error){
			func() (*redislock.Lock, error) { return w.client.Obtain(t.Context(), []string{key}, long, nil) },
			func() (*redislock.Lock, error) { return w.client.ObtainRead(t.Context(), []string{key}, long, nil) },
			func() (*redislock.Lock, error) {
				return w.client.Obtain(t.Context(), []string{key, w.key("other")}, long, nil)
			},
		} {
			_, err := obtain()
			conflict := wantConflict(t, err, key, redislock.ModeQueue)
			if conflict.Metadata != "first" {
				t.Errorf("got metadata %q, want that of the first in line", conflict.Metadata)
			}
		}
		got, ok := receive(turns, polled)
		if !ok {
			t.Fatal("the first in line has not asked")
		}
		noError(t, got.err)
		noError(t, got.lock.Release(t.Context()))
		w.wantNoTrace(t, key)
	})
}

func TestQueueForeign(t *testing.T) {
	for _, kind := range []string{"hash", "list", "string"} {
		t.Run(kind, func(t *testing.T) {
			scenario(t, func(t *testing.T, w *world) {
				key := w.key("k")
				noError(t, map[string]func() error{
					"hash":   func() error { return w.rdb.HSet(t.Context(), key, "f", "v").Err() },
					"list":   func() error { return w.rdb.RPush(t.Context(), key, "v").Err() },
					"string": func() error { return w.rdb.Set(t.Context(), key, "v", 0).Err() },
				}[kind]())
				turns := make(chan turn, 1)
				w.wait(t.Context(), turns, "a", []string{key}, nil)
				w.inLine(t, key, 1)
				wantNobody(t, turns)
				noError(t, w.rdb.Del(t.Context(), key).Err())
				got, ok := receive(turns, polled)
				if !ok {
					t.Fatal("it has not asked again")
				}
				noError(t, got.err)
				noError(t, got.lock.Release(t.Context()))
				w.wantNoTrace(t, key)
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
			w := newWorld(t, s, redislock.WithMaxKeys(n))
			w.prefix = "k"
			keys := numbered(w.key(""), n)
			last := keys[n-1]
			const most = 30 * time.Second
			quick := func(what string, do func()) {
				t.Helper()
				watch := startWatch(t)
				do()
				if took := watch.took(); took > most { // if it grew with the square of n
					t.Errorf("%s took %v", what, took)
				}
			}
			turns := make(chan turn, 3)
			holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{last}, long, nil))
			ctx, cancel := context.WithCancel(t.Context())
			quick("to enter the line", func() {
				w.wait(t.Context(), turns, "a", keys, nil)
				w.inLine(t, last, 1)
				w.wait(ctx, turns, "cancelled", keys, nil)
				w.inLine(t, last, 2)
				w.wait(t.Context(), turns, "b", append(keys[1:n:n], w.key("more")), nil)
				w.inLine(t, last, 3)
			})
			quick("to give up", func() {
				cancel()
				wantIs(t, (<-turns).err, context.Canceled)
				w.inLine(t, last, 2)
				w.inLine(t, keys[0], 1)
			})
			var a, b *redislock.Lock
			quick("to hand one key over", func() {
				noError(t, holder.Release(t.Context()))
				a = wantTurnWithin(t, turns, most, "a")[0]
			})
			quick("to hand all over", func() {
				noError(t, a.Release(t.Context()))
				b = wantTurnWithin(t, turns, most, "b")[0]
			})
			quick("to release", func() { noError(t, b.Release(t.Context())) })
			if left := must[int64](t)(w.rdb.DBSize(t.Context()).Result()); left != 0 {
				t.Errorf("%d keys are left", left)
			}
		})
	}
}

func TestQueueToken(t *testing.T) {
	own := func(token string) *redislock.Options {
		opt := queue()
		opt.Token = token
		return opt
	}
	wait := func(t *testing.T, w *world, turns chan<- turn, token string, keys ...string) {
		t.Helper()
		go func() {
			lock, err := w.client.Obtain(t.Context(), keys, long, own(token))
			turns <- turn{token, lock, err}
		}()
	}
	t.Run("waits twice for one key: both have it", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			key, token := w.key("k"), w.key("job")
			holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
			turns := make(chan turn, 2)
			wait(t, w, turns, token, key)
			w.inLine(t, key, 1)
			wait(t, w, turns, token, key)
			w.inLine(t, key, 2)
			noError(t, holder.Release(t.Context()))
			for range 2 {
				got, ok := receive(turns, polled)
				if !ok {
					t.Fatal("the token has it, and one of its waits goes on")
				}
				noError(t, got.err)
				defer func() { _ = got.lock.Release(context.WithoutCancel(t.Context())) }()
			}
			w.wantFree(t, "redislock:line:{"+key+"}")
		})
	})
	t.Run("gives up one of two waits: the other goes on", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			key, token := w.key("k"), w.key("job")
			holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
			turns := make(chan turn, 1)
			wait(t, w, turns, token, key)
			w.inLine(t, key, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := w.client.Obtain(ctx, []string{key}, long, own(token))
				ended <- err
			}()
			w.inLine(t, key, 2)
			cancel()
			wantIs(t, <-ended, context.Canceled)
			w.inLine(t, key, 1)
			noError(t, holder.Release(t.Context()))
			lock := wantTurn(t, turns, token)[0]
			noError(t, lock.Refresh(t.Context(), long))
			noError(t, lock.Release(t.Context()))
			w.noTraceSoon(t, key)
		})
	})
	t.Run("waits for two keys: it does not stand in its own way to one", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			a, b, token := w.key("a"), w.key("b"), w.key("job")
			other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{b}, long, nil))
			turns := make(chan turn, 1)
			wait(t, w, turns, token, a, b)
			w.inLine(t, a, 1)
			opt := &redislock.Options{Token: token}
			one := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{a}, long, opt))
			noError(t, other.Release(t.Context()))
			both := wantTurn(t, turns, token)[0]
			noError(t, one.Refresh(t.Context(), long))
			noError(t, both.Release(t.Context()))
			w.noTraceSoon(t, a, b)
		})
	})
	t.Run("waits for more than it holds, while others wait for that", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			a, b, token := w.key("a"), w.key("b"), w.key("job")
			mine := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{a}, long, own(token)))
			other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{b}, long, nil))
			turns := make(chan turn, 2)
			w.wait(t.Context(), turns, "next", []string{a}, nil)
			w.inLine(t, a, 1)
			wait(t, w, turns, token, a, b)
			w.inLine(t, b, 1)
			noError(t, other.Release(t.Context()))
			both := wantTurn(t, turns, token)[0]
			noError(t, mine.Refresh(t.Context(), long))
			noError(t, both.Release(t.Context()))
			noError(t, wantTurn(t, turns, "next")[0].Release(t.Context()))
			w.noTraceSoon(t, a, b)
		})
	})
}
