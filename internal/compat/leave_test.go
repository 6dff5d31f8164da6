//go:build compat

package compat_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// These are scenarios of keys that the tree leaves. The earlier version cannot leave any, and takes one that was left for
// one of somebody whose token it does not know.

// leaves has the new peer leave what it holds, and returns when the time of that ends.
func (w *world) leaves(t *testing.T, lock string, ttl time.Duration) (end time.Time) {
	t.Helper()
	w.newer.do(t, compat.Request{Op: compat.Leave, Lock: lock, TTL: ttl})
	return time.Now().Add(ttl)
}

// alone runs a scenario in which the new peer does what the old one cannot do.
func alone(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	w := newWorld(t)
	fn(t, w)
	w.wantNothingLeft(t)
}

// The old one cannot have a key that was left, nor end its time, whatever it tries, and under whichever token.
func TestLeft(t *testing.T) {
	const ttl = 10 * time.Second
	for name, c := range map[string]struct {
		held compat.Request
		mode string
	}{
		"write": {lock("a", "b"), "write"}, "read": {read("a", "b"), "read"}, "a number": {fenced(lock("a", "b")), "write"},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, func(t *testing.T, w *world) {
				first := w.newer.do(t, tagged(owned(c.held, "job"), "left|"))
				w.older.do(t, compat.Request{Op: compat.Attach, Lock: "theirs", Write: []string{"a", "b"}, Token: "job"})
				end := w.leaves(t, "a", ttl)
				for _, wanted := range []compat.Request{lock("a"), lock("c", "a"), owned(lock("a"), "job"), owned(lock("b"), "left")} {
					key := wanted.Write[len(wanted.Write)-1]
					w.older.conflict(t, wanted, key, c.mode, "left|")
					reply := w.newer.refused(t, wanted, compat.NotObtained)
					if reply.Key != key || !reply.Left || reply.Metadata != "left|" || reply.TTL > ttl {
						t.Errorf("the new peer says %+v", reply)
					}
				}
				w.older.refused(t, compat.Request{Op: compat.Refresh, Lock: "theirs", TTL: long}, compat.NotHeld)
				w.older.refused(t, compat.Request{Op: compat.Renewed, Lock: "theirs"}, compat.NotHeld)
				w.older.refused(t, compat.Request{Op: compat.Part, Lock: "theirs", Write: []string{"b"}}, compat.NotHeld)
				w.older.refused(t, compat.Request{Op: compat.Release, Lock: "theirs"}, compat.NotHeld)
				for _, p := range []*peer{w.older, w.newer} {
					seen := p.do(t, compat.Request{Op: compat.Inspect, Write: []string{"b"}})
					if seen.Mode != c.mode || seen.Metadata != "left|" || seen.TTL > ttl || seen.TTL <= 0 || seen.Left != (p == w.newer) {
						t.Errorf("the %s peer sees %+v", p.version, seen)
					}
				}
				next := lock("a", "b")
				if c.held.Fenced {
					next = fenced(next)
				}
				if r := w.older.do(t, polling(next)); c.held.Fenced && r.Fence <= first.Fence {
					t.Errorf("the number %d after %d", r.Fence, first.Fence)
				}
				if early := time.Until(end); early > time.Second/10 { // Leave began a little before its end was reckoned
					t.Errorf("the old peer has the key %v before its end", early)
				}
				w.older.release(t, "a")
			})
		})
	}
}

// Readers of both versions share a key that one of them has left, and it ends with the last of all leases and times.
func TestLeftToReaders(t *testing.T) {
	const ttl = 4 * time.Second
	alone(t, func(t *testing.T, w *world) {
		w.older.do(t, fenced(named(read("a"), "before")))
		w.newer.do(t, fenced(tagged(read("a"), "left")))
		end := w.leaves(t, "a", ttl)
		w.older.do(t, fenced(named(read("a"), "after")))
		w.older.release(t, "before")
		w.older.release(t, "after")
		w.older.conflict(t, lock("a"), "a", "read", "left")
		w.older.do(t, polling(lock("a")))
		if early := time.Until(end); early > time.Second/10 {
			t.Errorf("the old peer has the key %v before its end", early)
		}
		w.older.release(t, "a")
	})
}

// Those who stand in line for a key that was left have it in their order as soon as its time is over, whoever hands it over.
func TestLeftToTheLine(t *testing.T) {
	const ttl = 2 * time.Second
	for name, c := range map[string]struct{ held, wanted compat.Request }{
		"one key": {lock("a"), lock("a")}, // b is of no interest
		"write":   {lock("a", "c"), lock("a", "b")}, "read": {read("a", "c"), lock("a", "b")}, "to a reader": {lock("a", "c"), read("a", "b")},
		"a number": {fenced(lock("a", "c")), fenced(lock("a", "b"))},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, func(t *testing.T, w *world) {
				w.newer.do(t, tagged(c.held, "left"))
				w.older.do(t, lock("b"))
				var turns []<-chan compat.Reply
				who := []*peer{w.older, w.newer, w.older}
				enter := func(i int) {
					_, reply := who[i].begin(t, named(inLine(c.wanted), "waits"+string(rune('0'+i))))
					w.inLine(t, "a", int64(i+1))
					turns = append(turns, reply)
				}
				enter(0)
				enter(1)
				end := w.leaves(t, "a", ttl)
				enter(2)
				w.older.release(t, "b") // and this hands nothing over
				for i, turn := range turns {
					granted(t, turn)
					if late := time.Since(end); i == 0 && (late < -time.Second/10 || late > time.Second) {
						t.Errorf("the first has its turn %v after the end", late)
					}
					who[i].release(t, "waits"+string(rune('0'+i)))
				}
			})
		})
	}
}
