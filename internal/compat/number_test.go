//go:build compat

package compat_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// numbers are those of the locks on one key, in the order in which they were had.
type numbers struct{ last int64 }

// next notes the number of the next lock.
func (n *numbers) next(t *testing.T, r compat.Reply) {
	t.Helper()
	if r.Fence <= n.last {
		t.Fatalf("the number %d after %d", r.Fence, n.last)
	}
	n.last = r.Fence
}

// same notes the number of a lock that is obtained again.
func (n *numbers) same(t *testing.T, r compat.Reply) {
	t.Helper()
	if r.Fence < n.last {
		t.Fatalf("obtained again: the number %d after %d", r.Fence, n.last)
	}
	n.last = r.Fence
}

// fences checks how long the numbers of keys are kept.
func (w *world) fences(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		ttl := must(w.rdb.PTTL(t.Context(), "redislock:fence:{"+key+"}").Result())(t)
		if ttl < 22*time.Hour || ttl > 25*time.Hour {
			t.Errorf("the numbers of %s are kept for %v", key, ttl)
		}
	}
}

// Both take turns on the same keys, in all modes, and obtain again what they hold, of their own and of the other: numbers
// grow from each lock to the next. The old one stores the number of a writer elsewhere than the new one.
func TestNumbersByTurns(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		mixed := lock("a")
		mixed.Read = []string{"b"}
		var n numbers
		for _, wanted := range []compat.Request{lock("a", "b"), read("a", "b"), mixed, lock("a")} {
			wanted = owned(fenced(named(wanted, "job")), "job")
			for _, turn := range [][2]*peer{{w.holder, w.waiter}, {w.waiter, w.holder}, {w.holder, w.waiter}} {
				one, other := turn[0], turn[1]
				n.next(t, one.do(t, wanted))
				first := n.last
				if n.same(t, one.do(t, wanted)); n.last != first {
					t.Errorf("the %s one is given %d, and obtains %d again", one.version, first, n.last)
				}
				if n.same(t, other.do(t, wanted)); other.version == newer && n.last != first {
					t.Errorf("the old one is given %d, and the new one obtains %d again", first, n.last)
				}
				n.same(t, one.do(t, wanted))
				w.fences(t, "a")
				other.release(t, "job")
				one.refused(t, compat.Request{Op: compat.Release, Lock: "job"}, compat.NotHeld)
			}
		}
	})
}

// A lock that one has is raised, converted and obtained again by the other.
func TestNumbersOfOneToken(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		wanted := owned(fenced(named(lock("a", "b"), "job")), "job")
		raise := func(by int64) compat.Request {
			return compat.Request{Op: compat.Raise, Lock: "job", Fence: by}
		}
		convert := func(op string) compat.Request { return compat.Request{Op: op, Lock: "job"} }
		var n numbers
		for range 2 {
			for _, turn := range [][2]*peer{{w.holder, w.waiter}, {w.waiter, w.holder}} {
				one, other := turn[0], turn[1]
				n.next(t, one.do(t, wanted))
				n.same(t, other.do(t, wanted))
				n.next(t, other.do(t, raise(n.last+10)))
				n.same(t, one.do(t, wanted))
				n.next(t, one.do(t, raise(n.last+int64(time.Hour/time.Microsecond))))
				other.do(t, raise(n.last-5)) // it is greater by now
				n.same(t, other.do(t, wanted))
				other.do(t, convert(compat.Downgrade))
				n.same(t, one.do(t, fenced(owned(named(read("a", "b"), "job"), "job"))))
				n.next(t, one.do(t, convert(compat.Upgrade)))
				n.same(t, other.do(t, wanted))
				other.release(t, "job")
				n.next(t, one.do(t, fenced(read("a", "b"))))
				n.next(t, other.do(t, fenced(read("b", "a"))))
				one.release(t, "a")
				other.release(t, "b")
			}
		}
		w.fences(t, "a", "b")
	})
}

// Sets of one key and of four are handed over in their order, from either to the other, with numbers and without.
func TestHandedOver(t *testing.T) {
	for _, keys := range [][]string{{"a"}, {"a", "b", "c", "d"}} {
		for name, wanted := range map[string]compat.Request{
			"plain": lock(keys...), "with numbers": fenced(lock(keys...)),
			"to readers": read(keys...), "to readers, with numbers": fenced(read(keys...)),
			"with a short lease": lasting(watched(lock(keys...)), lease),
		} {
			t.Run(fmt.Sprint(len(keys), " ", name), func(t *testing.T) {
				bothWays(t, func(t *testing.T, w *world) { handOver(t, w, wanted, lock(keys...)) })
			})
		}
	}
}

// handOver has both wait by turns for what they want, and each time one who writes all of it behind them.
func handOver(t *testing.T, w *world, wanted, write compat.Request) {
	t.Helper()
	w.holder.do(t, named(write, "first"))
	holder, held := w.holder, "first"
	var replies []<-chan compat.Reply
	peers := []*peer{w.waiter, w.holder, w.holder, w.waiter, w.waiter, w.holder}
	for i, p := range peers {
		request := wanted
		if i%2 == 1 {
			request = write
			request.Fenced = wanted.Fenced
		}
		_, reply := p.begin(t, inLine(named(request, fmt.Sprint(i))))
		w.inLine(t, "a", int64(i+1))
		replies = append(replies, reply)
	}
	var n numbers
	for i, reply := range replies {
		waits(t, reply)
		holder.release(t, held)
		began := time.Now()
		r := granted(t, reply)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("turn %d came after %v: nobody has notified it", i, took)
		}
		if wanted.Fenced {
			n.next(t, r)
		}
		for _, later := range replies[i+1:] {
			waits(t, later)
		}
		holder, held = peers[i], fmt.Sprint(i)
	}
	holder.release(t, held)
}
