//go:build compat

package compat_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/compat"
)

// These are scenarios of guards: the earlier version knows none, and takes one for an entry of somebody who
// is gone.

// guarding runs a scenario in which there are guards.
func guarding(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	w := newWorld(t)
	for _, p := range []*peer{w.older, w.newer} { // their scripts are there
		p.do(t, lock("warm"))
		p.release(t, "warm")
	}
	fn(t, w)
	w.wantNothingLeft(t)
}

// guards counts those in the line of a key.
func (w *world) guards(t *testing.T, key string) int64 {
	t.Helper()
	return check.Guards(t.Context(), w.rdb, "redislock:line:{"+key+"}")
}

func (w *world) wantGuards(t *testing.T, want int64) {
	t.Helper()
	if got := w.guards(t, "a"); got != want {
		t.Fatalf("%d guards stand in the line, want %d", got, want)
	}
}

// loses has the new peer do something of which the first reply is lost; what it does again closes that.
func (w *world) loses(t *testing.T, request compat.Request) compat.Reply {
	t.Helper()
	w.newer.do(t, compat.Request{Op: compat.Lose})
	return w.newer.do(t, request)
}

// While the new one holds a key behind a guard of its own, the old one is refused as ever, sees no waiter,
// and leaves the guard where it is; it may have each key as soon as that is free, and then the guard is gone.
func TestGuardBesideOld(t *testing.T) {
	guarding(t, func(t *testing.T, w *world) {
		for name, wanted := range map[string]compat.Request{
			"obtain": lock("a"), "read": read("a"), "queue": inLine(lock("a")), "fenced": fenced(lock("a")),
			"set": lock("a", "b"), "poll": polling(lock("a", "b")),
		} {
			w.loses(t, tagged(lock("a"), "guarded"))
			w.wantGuards(t, 1)
			w.older.conflict(t, lock("a"), "a", "write", "guarded")
			w.older.conflict(t, read("a"), "a", "write", "guarded")
			seen := w.older.do(t, compat.Request{Op: compat.Inspect, Write: []string{"a"}})
			if seen.Mode != "write" || seen.Metadata != "guarded" || seen.Waiters != 0 {
				t.Errorf("the old peer sees %+v", seen)
			}
			w.wantGuards(t, 1)
			w.newer.release(t, "a")
			began := time.Now()
			w.older.do(t, wanted)
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: a key that is free came after %v", name, took)
			}
			w.wantGuards(t, 0)
			w.newer.refused(t, named(lock("a"), "new"), compat.NotObtained)
			w.older.release(t, "a")
		}
	})
}

// Either can refresh, convert and release what the other holds, beside a guard.
func TestGuardSharedByOld(t *testing.T) {
	guarding(t, func(t *testing.T, w *world) {
		for _, taken := range []compat.Request{lock("a", "b"), read("a", "b"), fenced(lock("a", "b"))} {
			token := w.loses(t, taken).Token
			w.older.do(t, compat.Request{Op: compat.Attach, Lock: "theirs", Write: []string{"a", "b"}, Token: token})
			w.older.do(t, compat.Request{Op: compat.Refresh, Lock: "theirs", TTL: 3 * long})
			w.wantGuards(t, 1)
			w.older.do(t, compat.Request{Op: compat.Upgrade, Lock: "theirs"})
			w.newer.do(t, compat.Request{Op: compat.Downgrade, Lock: "a"})
			w.older.release(t, "theirs")
			w.newer.refused(t, compat.Request{Op: compat.Release, Lock: "a"}, compat.NotHeld)
			w.older.do(t, lock("a", "b"))
			w.older.release(t, "a")
		}
	})
}

// What was not answered, and comes late, does nothing behind a guard. The old one may delete the guard, and
// then it does what it would have done before there were guards: it takes a free key for its own lease, and
// no longer; to a key that is held it does nothing.
func TestGuardDeletedByOld(t *testing.T) {
	guarding(t, func(t *testing.T, w *world) {
		keepBack := func() {
			t.Helper()
			w.newer.do(t, compat.Request{Op: compat.Hold})
			w.newer.do(t, lasting(lock("a"), lease))
			w.wantGuards(t, 1)
			w.newer.release(t, "a")
		}
		late := func(want string) {
			t.Helper()
			if got := w.newer.do(t, compat.Request{Op: compat.Late}).Metadata; got != want {
				t.Fatalf("a late Obtain says %s, want %s", got, want)
			}
		}
		keepBack()
		late("-3")
		w.older.do(t, lock("a"))
		w.wantGuards(t, 0)
		if got := w.newer.do(t, compat.Request{Op: compat.Late}).Metadata; got == "1" {
			t.Fatal("a late Obtain takes a key that is held")
		}
		w.older.release(t, "a")

		keepBack()
		w.older.do(t, lock("a"))
		w.older.release(t, "a")
		began := time.Now()
		late("1")
		for _, p := range []*peer{w.older, w.newer} {
			p.conflict(t, lock("a"), "a", "write", "")
		}
		w.older.do(t, polling(lock("a")))
		if took := time.Since(began); took > lease+time.Second {
			t.Errorf("a late Obtain for %v has kept others out for %v", lease, took)
		}
		w.older.release(t, "a")
	})
}
