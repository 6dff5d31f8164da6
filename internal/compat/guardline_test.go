//go:build compat

package compat_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

const (
	// asksAgain is how long a waiter may go on waiting for a free key if nobody notifies it: 5 s, and a little.
	asksAgain = 6 * time.Second
	// notified is how long a waiter waits that gets a message.
	notified = time.Second
)

// wantWithin waits for a lock, which has to come so soon.
func wantWithin(t *testing.T, who string, reply <-chan compat.Reply, within time.Duration) {
	t.Helper()
	began := time.Now()
	granted(t, reply)
	if took := time.Since(began); took > within {
		t.Errorf("%s has waited %v, want at most %v", who, took, within)
	}
}

// waitsIn has a peer wait in the line of the key a, which has n members then, with the guards.
func (w *world) waitsIn(t *testing.T, p *peer, name string, n int64) <-chan compat.Reply {
	t.Helper()
	_, reply := p.begin(t, inLine(named(lock("a"), name)))
	eventually(t, fmt.Sprintf("%s stands in line", name), func() bool {
		return must(w.rdb.ZCard(t.Context(), "redislock:line:{a}").Result())(t) == n
	})
	return reply
}

// An old waiter that came before the guard is notified by a new release, and notifies others as ever. The guard
// goes with the next old script that meets it.
func TestGuardBehindOldWaiter(t *testing.T) {
	guarding(t, func(t *testing.T, w *world) {
		w.newer.do(t, lock("a"))
		before := w.waitsIn(t, w.older, "before", 1)
		w.loses(t, compat.Request{Op: compat.Refresh, Lock: "a", TTL: long / 2})
		w.wantGuards(t, 1)
		behind := w.waitsIn(t, w.older, "behind", 3)
		later := w.waitsIn(t, w.newer, "later", 4)
		w.newer.release(t, "a")
		wantWithin(t, "an old one before the guard", before, notified)
		waits(t, behind)
		w.older.release(t, "before")
		wantWithin(t, "a new one, which has its place before the guard", later, notified)
		waits(t, behind)
		w.newer.release(t, "later")
		wantWithin(t, "an old one behind the guard", behind, asksAgain)
		w.older.release(t, "behind")
		w.wantGuards(t, 0)
	})
}

// An old waiter that came behind a guard has a place there, where the new ones take it for one: they do not
// notify it, so it comes when it asks by itself; and whoever of them waits goes before it, however long they do.
// An old release hands over to it.
func TestGuardBeforeOldWaiter(t *testing.T) {
	guarding(t, func(t *testing.T, w *world) {
		w.loses(t, lock("a"))
		behind, second := w.waitsIn(t, w.older, "behind", 2), w.waitsIn(t, w.older, "second", 3)
		if ttl := w.rdb.PTTL(t.Context(), "redislock:line:{a}").Val(); ttl > 30*time.Second {
			t.Errorf("the line lives %v beside an old waiter, want that it shortens that to 30s", ttl)
		}
		turn := w.waitsIn(t, w.newer, "turn 0", 4)
		w.newer.release(t, "a")
		i := 0
		for end := time.Now().Add(3 * asksAgain / 2); time.Now().Before(end); i++ {
			wantWithin(t, "a new one", turn, notified)
			waits(t, behind)
			turn = w.waitsIn(t, w.newer, fmt.Sprint("turn ", i+1), 4)
			w.newer.release(t, fmt.Sprint("turn ", i))
		}
		wantWithin(t, "the last new one", turn, notified)
		w.newer.release(t, fmt.Sprint("turn ", i))
		wantWithin(t, "an old one behind the guard", behind, asksAgain)
		waits(t, second)
		w.older.release(t, "behind")
		wantWithin(t, "the second one, notified by an old release", second, notified)
		w.older.release(t, "second")
	})
}
