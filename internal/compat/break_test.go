//go:build compat

package compat_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// breaks has the new peer take keys from whoever holds them.
func (w *world) breaks(t *testing.T, keys ...string) compat.Reply {
	t.Helper()
	return w.newer.do(t, compat.Request{Op: compat.Break, Write: keys})
}

// wantBroken checks what a Break says of one owner.
func wantBroken(t *testing.T, got compat.Reply, owners int, mode, metadata string) {
	t.Helper()
	if got.Broken != owners || got.Mode != mode || got.Metadata != metadata {
		t.Errorf("the break says %+v, want %d broken, the first %s-locked by %q", got, owners, mode, metadata)
	}
}

// What the old one holds the new one can break. The old one finds it lost at its next renewal, and can do nothing to the
// next hold; whoever stands in line has the key at once.
func TestBroken(t *testing.T) {
	const ttl = 3 * time.Second
	for name, c := range map[string]struct {
		held compat.Request
		mode string
	}{
		"write": {lock("a", "b"), "write"}, "read": {read("a", "b"), "read"}, "a number": {fenced(lock("a", "b")), "write"},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, func(t *testing.T, w *world) {
				w.faulty = true // a Break leaves a guard
				for _, next := range []*peer{w.newer, w.older} {
					first := w.older.do(t, tagged(owned(lasting(watched(c.held), ttl), "job"), "old"))
					_, lost := w.older.begin(t, compat.Request{Op: compat.Lost, Lock: "a"})
					wanted := named(inLine(lock("a", "b")), "next")
					if c.held.Fenced {
						wanted = fenced(wanted)
					}
					_, turn := next.begin(t, wanted)
					w.inLine(t, "a", 1)
					wantBroken(t, w.breaks(t, "b", "a"), 2, c.mode, "old")
					if r := granted(t, turn); c.held.Fenced && r.Fence <= first.Fence {
						t.Errorf("the number %d after %d", r.Fence, first.Fence)
					}
					granted(t, lost)
					for _, op := range []string{compat.Refresh, compat.Renewed, compat.Release} {
						w.older.refused(t, compat.Request{Op: op, Lock: "a", TTL: long}, compat.NotHeld)
					}
					next.do(t, compat.Request{Op: compat.Renewed, Lock: "next"})
					w.newer.refused(t, lock("a"), compat.NotObtained)
					next.release(t, "next")
				}
			})
		})
	}
}

// A late Break of what the old one holds does nothing to the next hold, until the old one deletes its guard.
func TestBrokenLate(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		w.faulty = true
		w.breaks(t, "warm")
		w.older.do(t, lock("a"))
		w.newer.do(t, compat.Request{Op: compat.Hold})
		wantBroken(t, w.breaks(t, "a"), 1, "write", "")
		w.newer.do(t, lock("a"))
		w.older.refused(t, named(lock("a"), "again"), compat.NotObtained)
		if r := w.newer.do(t, compat.Request{Op: compat.Late}); r.Metadata != "-3" {
			t.Errorf("the late Break is answered %s, want that it was overtaken", r.Metadata)
		}
		w.newer.release(t, "a")
		w.older.refused(t, compat.Request{Op: compat.Release, Lock: "a"}, compat.NotHeld)
	})
}

// A prefix is a part of the names: a process that has one and a process of the earlier version that spells it out meet.
func TestPrefixed(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		short := w.start(t, newer, "lock:")
		w.older.do(t, tagged(lock("lock:a", "lock:b"), "old"))
		short.conflict(t, lock("a"), "a", "write", "old")
		short.conflict(t, read("c", "b"), "b", "write", "old")
		if r := short.do(t, compat.Request{Op: compat.Inspect, Write: []string{"a"}}); r.Key != "a" || r.Metadata != "old" {
			t.Errorf("the one with a prefix sees %+v", r)
		}
		_, turn := short.begin(t, tagged(fenced(inLine(named(lock("b", "a"), "next"))), "new"))
		w.inLine(t, "lock:a", 1)
		w.older.release(t, "lock:a")
		first := granted(t, turn)
		w.older.conflict(t, lock("lock:b"), "lock:b", "write", "new")
		w.older.do(t, lock("b")) // which is another key
		w.older.release(t, "b")
		_, turn = w.older.begin(t, fenced(inLine(lock("lock:b"))))
		w.inLine(t, "lock:b", 1)
		short.release(t, "next")
		if r := granted(t, turn); r.Fence <= first.Fence {
			t.Errorf("the number %d after %d", r.Fence, first.Fence)
		}
		w.older.release(t, "lock:b")
	})
}
