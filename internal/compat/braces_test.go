//go:build compat

package compat_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// A key with a '}' and no hash tag can only be written by the earlier version, in the same way. It sees what the other
// one holds, but neither reads the key nor hands it over, and goes before those in line.
func TestBraces(t *testing.T) {
	const key = "a}b"
	bothWays(t, func(t *testing.T, w *world) {
		w.holder.do(t, tagged(lock(key), "of|"+w.holderV))
		w.waiter.conflict(t, lock(key), key, "write", "of|"+w.holderV)
		seen := w.waiter.do(t, compat.Request{Op: compat.Inspect, Write: []string{key}})
		if seen.Mode != "write" || seen.Metadata != "of|"+w.holderV {
			t.Errorf("the %s peer sees %+v", w.waitsV, seen)
		}
		_, reply := w.waiter.begin(t, polling(lock(key, "c")))
		w.holder.release(t, key)
		taken := granted(t, reply)
		w.holder.do(t, compat.Request{Op: compat.Attach, Lock: "theirs", Write: []string{key, "c"}, Token: taken.Token})
		w.holder.do(t, compat.Request{Op: compat.Refresh, Lock: "theirs", TTL: 3 * long})
		if left := w.waiter.do(t, compat.Request{Op: compat.Renewed, Lock: key}); left.TTL < 2*long {
			t.Errorf("the other one has refreshed it, and %v are left", left.TTL)
		}
		w.holder.release(t, "theirs")
		w.waiter.refused(t, compat.Request{Op: compat.Release, Lock: key}, compat.NotHeld)

		for name, held := range map[string]compat.Request{"read": read(key), "write": fenced(lock(key))} {
			w.newer.do(t, tagged(held, "newer"))
			w.older.conflict(t, lock(key), key, name, "newer")
			if seen := w.older.do(t, compat.Request{Op: compat.Inspect, Write: []string{key}}); seen.Mode != name {
				t.Errorf("the old peer sees %+v", seen)
			}
			_, reply = w.older.begin(t, polling(lock(key)))
			w.newer.release(t, key)
			granted(t, reply)
			_, reply = w.newer.begin(t, inLine(fenced(named(held, "later"))))
			eventually(t, "it stands in line", func() bool {
				return w.newer.do(t, compat.Request{Op: compat.Inspect, Write: []string{key}}).Waiters == 1
			})
			waits(t, reply)
			w.older.release(t, key)
			granted(t, reply) // nobody has notified it
			w.newer.release(t, "later")
		}
	})
}
