//go:build compat

package compat_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

func TestPolling(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		w.holder.do(t, tagged(lock("a", "b"), "of|"+w.holderV))
		w.waiter.conflict(t, lock("b", "c"), "b", "write", "of|"+w.holderV)
		w.waiter.conflict(t, read("c", "a"), "a", "write", "of|"+w.holderV)
		w.holder.do(t, lock("c")) // of what was refused nothing is held
		w.holder.release(t, "c")
		_, reply := w.waiter.begin(t, polling(lock("b", "c")))
		_, other := w.waiter.begin(t, polling(read("a")))
		waits(t, reply)
		waits(t, other)
		w.holder.release(t, "a")
		granted(t, reply)
		granted(t, other)
		w.holder.conflict(t, lock("c"), "c", "write", "")
		w.holder.conflict(t, lock("a"), "a", "read", "")
		w.waiter.release(t, "a")
		w.waiter.release(t, "b")
		w.holder.do(t, lock("a", "b", "c"))
		w.holder.release(t, "a")
	})
}

func TestRead(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		w.holder.do(t, tagged(read("a", "b"), "reads"))
		w.waiter.do(t, lasting(read("a"), time.Second))
		w.waiter.conflict(t, lock("b"), "b", "read", "reads")
		w.holder.refused(t, compat.Request{Op: compat.Upgrade, Lock: "a"}, compat.NotObtained)
		eventually(t, "the short lease is over, and the long one is not", func() bool {
			r := w.waiter.ask(t, compat.Request{Op: compat.Renewed, Lock: "a"})
			if r.Is != "" && r.Is != compat.NotHeld {
				t.Fatal(r.Error)
			}
			return r.Is == compat.NotHeld
		})
		if left := w.holder.do(t, compat.Request{Op: compat.Renewed, Lock: "a"}); left.TTL < long/4 {
			t.Errorf("the long lease has %v left", left.TTL)
		}
		w.holder.do(t, compat.Request{Op: compat.Upgrade, Lock: "a"})
		w.waiter.conflict(t, read("a"), "a", "write", "reads")
		w.holder.do(t, compat.Request{Op: compat.Downgrade, Lock: "a"})
		w.waiter.do(t, read("a"))
		w.holder.release(t, "a")
		w.holder.conflict(t, lock("a"), "a", "read", "")
		w.waiter.do(t, compat.Request{Op: compat.Upgrade, Lock: "a"})
		w.holder.conflict(t, read("a"), "a", "write", "")
		w.waiter.release(t, "a")
	})
}

func TestMixed(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		mixed := lock("w")
		mixed.Read = []string{"r"}
		w.holder.do(t, tagged(mixed, "mixed"))
		w.waiter.conflict(t, lock("r"), "r", "read", "mixed")
		w.waiter.do(t, read("r"))
		w.waiter.conflict(t, read("w"), "w", "write", "mixed")
		w.waiter.conflict(t, mixed, "w", "write", "mixed")
		_, reply := w.waiter.begin(t, named(inLine(mixed), "both"))
		w.inLine(t, "w", 1)
		w.holder.release(t, "w")
		granted(t, reply)
		w.holder.conflict(t, mixed, "w", "write", "")
		w.waiter.release(t, "both")
		w.waiter.release(t, "r")
	})
}

func TestFenced(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		var last int64
		greater := func(r compat.Reply) {
			t.Helper()
			if r.Fence <= last {
				t.Fatalf("the number %d after %d", r.Fence, last)
			}
			last = r.Fence
		}
		for range 5 {
			greater(w.holder.do(t, fenced(lock("a", "b"))))
			_, reply := w.waiter.begin(t, fenced(inLine(lock("b", "c"))))
			w.inLine(t, "b", 1)
			w.holder.release(t, "a")
			greater(granted(t, reply))
			_, reply = w.holder.begin(t, fenced(inLine(read("b"))))
			w.inLine(t, "b", 1)
			w.waiter.release(t, "b")
			greater(granted(t, reply))
			greater(w.holder.do(t, compat.Request{Op: compat.Upgrade, Lock: "b"}))
			w.holder.release(t, "b")
		}
		w.waiter.do(t, fenced(lock("a")))
		raised := compat.Request{Op: compat.Raise, Lock: "a", Fence: last + int64(time.Hour/time.Microsecond)}
		greater(w.waiter.do(t, raised))
		if r := w.holder.do(t, compat.Request{Op: compat.Inspect, Write: []string{"a"}}); r.Fence != last {
			t.Errorf("the other one gets the number %d, want %d", r.Fence, last)
		}
		w.waiter.release(t, "a")
		greater(w.holder.do(t, fenced(lock("a"))))
		w.holder.release(t, "a")
	})
}

func TestIntents(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		w.holder.do(t, read("a"))
		_, reply := w.waiter.begin(t, tagged(intending(polling(lock("a"))), "wants it"))
		eventually(t, "the intent is there", func() bool {
			return must(w.rdb.Exists(t.Context(), "redislock:intent:{a}").Result())(t) == 1
		})
		w.holder.conflict(t, named(read("a"), "late"), "a", "intent", "wants it")
		waits(t, reply)
		w.holder.release(t, "a")
		granted(t, reply)
		w.waiter.release(t, "a")
		w.holder.do(t, read("a"))
		w.holder.release(t, "a")
	})
}

// The token is all that the other version needs to use a lock.
func TestReleased(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		for _, taken := range []compat.Request{
			lock("a", "b"), read("a", "b"), tagged(lock("a", "b"), "data"), tagged(read("a", "b"), "data"),
			owned(lock("a", "b"), "job"), owned(tagged(read("a", "b"), "data"), "job"),
		} {
			token := w.holder.do(t, taken).Token
			attach := compat.Request{Op: compat.Attach, Lock: "theirs", Write: []string{"a", "b"}, Token: token}
			w.waiter.do(t, attach)
			w.waiter.do(t, compat.Request{Op: compat.Refresh, Lock: "theirs", TTL: 3 * long})
			if left := w.holder.do(t, compat.Request{Op: compat.Renewed, Lock: "a"}); left.TTL < 2*long {
				t.Errorf("the other one has refreshed it, and %v are left", left.TTL)
			}
			w.waiter.do(t, compat.Request{Op: compat.Part, Lock: "theirs", Write: []string{"a"}})
			w.holder.refused(t, compat.Request{Op: compat.Renewed, Lock: "a"}, compat.NotHeld)
			w.waiter.do(t, lock("a")) // it is free
			w.waiter.release(t, "a")
			w.waiter.release(t, "theirs")
			w.holder.refused(t, compat.Request{Op: compat.Release, Lock: "a"}, compat.NotHeld)
			w.waiter.do(t, lock("b"))
			w.waiter.release(t, "b")
		}
		// The same owner in both.
		w.holder.do(t, owned(lock("a"), "job"))
		w.waiter.conflict(t, owned(lock("a"), "jo"), "a", "write", "")
		w.waiter.do(t, owned(lock("a", "b"), "job"))
		w.waiter.release(t, "a")
	})
}

// Leases are renewed by either, side by side, and a loss that the other one has caused is noticed.
func TestRenewed(t *testing.T) {
	const ttl = 3 * time.Second
	bothWays(t, func(t *testing.T, w *world) {
		token := w.holder.do(t, lasting(watched(lock("a", "b")), ttl)).Token
		w.holder.do(t, lasting(watched(read("c")), ttl))
		w.waiter.do(t, lasting(watched(read("c")), ttl))
		for end := time.Now().Add(3 * ttl); time.Now().Before(end); time.Sleep(ttl / 20) {
			w.waiter.refused(t, lock("b"), compat.NotObtained)
			w.holder.refused(t, named(lock("c"), "writes"), compat.NotObtained)
		}
		for _, p := range []*peer{w.holder, w.waiter} {
			p.do(t, compat.Request{Op: compat.Renewed, Lock: "c"})
			p.release(t, "c")
		}
		_, lost := w.holder.begin(t, compat.Request{Op: compat.Lost, Lock: "a"})
		w.waiter.do(t, compat.Request{Op: compat.Attach, Lock: "theirs", Write: []string{"a", "b"}, Token: token})
		waits(t, lost)
		w.waiter.release(t, "theirs")
		granted(t, lost)
	})
}
