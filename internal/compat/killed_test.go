//go:build compat

package compat_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// lease is that of the process that is killed.
const lease = 3 * time.Second

// A holder that is killed keeps the other version out for its lease, and no longer.
func TestHolderKilled(t *testing.T) {
	for name, c := range map[string]struct{ held, wanted compat.Request }{
		"polled for":  {lasting(watched(lock("a", "b")), lease), polling(lock("b", "c"))},
		"queued for":  {lasting(watched(lock("a", "b")), lease), inLine(lock("b", "c"))},
		"a reader":    {lasting(watched(read("b")), lease), inLine(lock("b", "c"))},
		"with number": {lasting(fenced(watched(lock("b"))), lease), fenced(inLine(read("b")))},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, w *world) {
				w.holder.do(t, c.held)
				_, reply := w.waiter.begin(t, named(c.wanted, "later"))
				if c.wanted.Queue {
					w.inLine(t, "b", 1)
				}
				waits(t, reply)
				w.holder.kill()
				granted(t, reply)
				w.waiter.release(t, "later")
			})
		})
	}
}

// A waiter that is killed is passed over by the other version, wherever it stands.
func TestWaiterKilled(t *testing.T) {
	for name, wanted := range map[string]compat.Request{
		"one key": lock("a"), "a set": lock("a", "b"), "a reader": read("a"), "a number": fenced(lock("a")),
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, w *world) {
				w.holder.do(t, lock("a"))
				head, middle := w.start(t, w.waitsV), w.start(t, w.waitsV)
				head.begin(t, inLine(wanted))
				w.inLine(t, "a", 1)
				_, second := w.waiter.begin(t, named(inLine(lock("a")), "second"))
				w.inLine(t, "a", 2)
				middle.begin(t, inLine(wanted))
				w.inLine(t, "a", 3)
				_, last := w.holder.begin(t, named(inLine(lock("a", "c")), "last"))
				w.inLine(t, "a", 4)
				head.kill()
				middle.kill()
				w.holder.release(t, "a")
				granted(t, second)
				w.waiter.release(t, "second")
				granted(t, last)
				w.holder.release(t, "last")
				w.waiter.do(t, polling(lock("a", "b", "c"))) // nobody is kept out by the dead
				w.waiter.release(t, "a")
			})
		})
	}
}

// A writer that is killed while it polls leaves an intent, which keeps readers out no longer than it
// lives.
func TestIntentOfKilled(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		w.holder.do(t, read("a"))
		w.waiter.begin(t, intending(polling(lock("a"))))
		eventually(t, "the intent is there", func() bool {
			return must(w.rdb.Exists(t.Context(), "redislock:intent:{a}").Result())(t) == 1
		})
		w.waiter.kill()
		w.holder.do(t, named(polling(read("a")), "late"))
		w.holder.release(t, "a")
		w.holder.release(t, "late")
	})
}
