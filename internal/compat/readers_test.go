//go:build compat

package compat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// A token that nobody has asked for is looked for under its value alone. It is known to the other one all the same, which
// has seen it in Redis, and what that one does to it is noticed.
func TestReadersWithoutToken(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		for _, metadata := range []string{"", "of it"} {
			w.waiter.do(t, named(read("a"), "beside")) // that it is not alone
			w.holder.do(t, secret(tagged(read("a", "b"), metadata)))
			stored := must(w.rdb.ZRange(t.Context(), "b", 0, -1).Result())(t)
			token, _, _ := strings.Cut(stored[0], "|")
			w.waiter.do(t, compat.Request{Op: compat.Attach, Lock: "theirs", Write: []string{"a", "b"}, Token: token})
			w.waiter.do(t, compat.Request{Op: compat.Refresh, Lock: "theirs", TTL: 3 * long})
			if left := w.holder.do(t, compat.Request{Op: compat.Renewed, Lock: "a"}); left.TTL < 2*long {
				t.Errorf("the other one has refreshed it, and %v are left", left.TTL)
			}
			w.holder.do(t, compat.Request{Op: compat.Refresh, Lock: "a", TTL: 5 * long})
			if left := w.waiter.do(t, compat.Request{Op: compat.Renewed, Lock: "theirs"}); left.TTL < 4*long {
				t.Errorf("the holder has refreshed it, and %v are left", left.TTL)
			}
			w.waiter.conflict(t, named(lock("b"), "writes"), "b", "read", metadata)
			w.holder.refused(t, compat.Request{Op: compat.Upgrade, Lock: "a"}, compat.NotObtained)
			w.waiter.release(t, "beside")
			w.holder.do(t, compat.Request{Op: compat.Upgrade, Lock: "a"})
			w.holder.do(t, compat.Request{Op: compat.Downgrade, Lock: "a"})
			w.waiter.release(t, "theirs")
			w.holder.refused(t, compat.Request{Op: compat.Refresh, Lock: "a", TTL: long}, compat.NotHeld)
			w.holder.refused(t, compat.Request{Op: compat.Release, Lock: "a"}, compat.NotHeld)
		}
	})
}

// Either gives the reader of one token other metadata, and the other one goes on with it.
func TestReadersOfOneToken(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		w.waiter.do(t, named(read("a"), "beside"))
		for range 2 {
			for i, p := range []*peer{w.holder, w.waiter} {
				other := []*peer{w.waiter, w.holder}[i]
				mine := owned(named(read("a", "b"), "job"), "job")
				p.do(t, tagged(mine, "one"))
				other.do(t, tagged(mine, "other"))
				if got := must(w.rdb.ZRange(t.Context(), "b", 0, -1).Result())(t); len(got) != 1 || got[0] != "job|other" {
					t.Fatalf("the readers are %q", got)
				}
				p.do(t, compat.Request{Op: compat.Refresh, Lock: "job", TTL: 2 * long})
				other.do(t, compat.Request{Op: compat.Renewed, Lock: "job"})
				other.conflict(t, named(lock("b"), "writes"), "b", "read", "other")
				p.do(t, mine) // without
				other.do(t, compat.Request{Op: compat.Refresh, Lock: "job", TTL: long})
				p.release(t, "job")
				other.refused(t, compat.Request{Op: compat.Release, Lock: "job"}, compat.NotHeld)
				other.do(t, named(lock("b"), "writes"))
				other.release(t, "writes")
			}
		}
		w.waiter.release(t, "beside")
	})
}

// Readers whose leases have ended, of whom the new one drops a few at a time, are in nobody's way, and do not stay.
func TestReadersThatHaveEnded(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		die := func() {
			t.Helper()
			for i := range 100 {
				past := redis.Z{Score: float64(time.Now().UnixMilli() - 1 - int64(i)), Member: fmt.Sprint("dead", i, "|data")}
				if err := w.rdb.ZAdd(t.Context(), "a", past).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		left := func() int64 { return must(w.rdb.ZCard(t.Context(), "a").Result())(t) }
		for i, p := range []*peer{w.holder, w.waiter} {
			other := []*peer{w.waiter, w.holder}[i]
			p.do(t, fenced(tagged(read("a"), "alive")))
			die()
			other.conflict(t, lock("a"), "a", "read", "alive")
			seen := other.do(t, compat.Request{Op: compat.Inspect, Write: []string{"a"}})
			if seen.Mode != "read" || seen.Metadata != "alive" {
				t.Errorf("the %s one sees %+v", other.version, seen)
			}
			other.do(t, fenced(named(read("a"), "joins")))
			for range 10 {
				w.newer.do(t, named(read("a"), "comes and goes"))
				w.newer.release(t, "comes and goes")
			}
			if n := left(); n != 2 {
				t.Errorf("%d readers are left, of whom 2 are alive", n)
			}
			die()
			_, writer := p.begin(t, inLine(named(lock("a", "b"), "writes")))
			w.inLine(t, "a", 1)
			p.release(t, "a")
			waits(t, writer)
			other.release(t, "joins")
			granted(t, writer)
			p.release(t, "writes")

			// The last one leaves, and none of the dead is left.
			p.do(t, read("a"))
			die()
			p.release(t, "a")
			if n := left(); n != 0 {
				t.Errorf("%d readers are left when the last has gone", n)
			}
		}
	})
}
