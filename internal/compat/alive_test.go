//go:build compat

package compat_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// Many wait for longer than an entry counts as alive if nobody writes it anew, 15 s. The new ones write theirs less often
// than the old ones, and some of them together. Nobody counts as dead meanwhile, and the order stays.
func TestAliveForLong(t *testing.T) {
	const held = 22 * time.Second
	for name, c := range map[string]struct {
		keys    []string
		waiters int
	}{
		"few for one key":  {[]string{"a"}, 5}, // each asks by itself
		"many for one key": {[]string{"a"}, 24},
		"few for a set":    {[]string{"a", "b", "c", "d"}, 5},
		"many for a set":   {[]string{"a", "b", "c", "d"}, 24},
	} {
		keys := c.keys
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, w *world) {
				w.holder.do(t, named(lock(keys...), "first"))
				var replies []<-chan compat.Reply
				var who []*peer
				for i := range c.waiters {
					p := w.newer
					if i%4 == 3 {
						p = w.older
					}
					_, reply := p.begin(t, inLine(named(lock(keys...), fmt.Sprint(i))))
					w.inLine(t, "a", int64(i+1))
					replies, who = append(replies, reply), append(who, p)
				}
				for end := time.Now().Add(held); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
					w.wantAlive(t, len(replies), keys...)
					w.waiter.refused(t, named(lock("a"), "other"), compat.NotObtained) // drops whoever is dead
				}
				holder, name := w.holder, "first"
				for i, reply := range replies {
					holder.release(t, name)
					granted(t, reply)
					for _, later := range replies[i+1:] {
						waits(t, later)
					}
					holder, name = who[i], fmt.Sprint(i)
				}
				holder.release(t, name)
			})
		})
	}
}

// wantAlive checks that so many stand in the lines of keys, and that each of them counts as alive.
func (w *world) wantAlive(t *testing.T, n int, keys ...string) {
	t.Helper()
	now := must(w.rdb.Time(t.Context()).Result())(t).UnixMilli()
	for _, key := range keys {
		entries := must(w.rdb.ZRange(t.Context(), "redislock:line:{"+key+"}", 0, -1).Result())(t)
		if len(entries) != n {
			t.Fatalf("%d stand in line for %s, want %d", len(entries), key, n)
		}
		for i, entry := range entries {
			if till, err := strconv.ParseInt(strings.Split(entry, "|")[1], 10, 64); err != nil || till <= now {
				t.Fatalf("%d of those who wait for %s counts as dead for %d ms: %q, %v", i, key, now-till, entry, err)
			}
		}
	}
}
