package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// start is when the tables of these tests begin.
var start = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// at is a sample some seconds after that. The clock of the server is an hour ahead.
func at(seconds float64, states ...redislock.KeyState) sample {
	now := start.Add(time.Duration(seconds * float64(time.Second)))
	return sample{at: now, server: now.Add(time.Hour), states: states}
}

func held(key, by string, ttl time.Duration, line ...redislock.Waiter) redislock.KeyState {
	return redislock.KeyState{
		Key: key, Mode: redislock.ModeWrite, TTL: ttl, Line: line, Holders: []redislock.Holder{{Metadata: by, TTL: ttl}},
	}
}

func free(key string) redislock.KeyState {
	return redislock.KeyState{Key: key, Mode: redislock.ModeFree}
}

// waits is a waiter who came some seconds after the start, by the clock of the server.
func waits(since float64) redislock.Waiter {
	w := redislock.Waiter{Mode: redislock.ModeWrite, Alive: true}
	w.Since = at(since).server
	return w
}

// dead is one that has died.
func dead(since float64) redislock.Waiter {
	w := waits(since)
	w.Alive = false
	return w
}

// only returns the one row of a table.
func only(t *testing.T, table *table) row {
	t.Helper()
	rows := table.rows()
	if len(rows) != 1 {
		t.Fatalf("got %d rows, want 1", len(rows))
	}
	return rows[0]
}

func TestHandOffs(t *testing.T) {
	t.Parallel()
	a, b, nobody := held("k", "a", time.Minute), held("k", "b", time.Minute), free("k")
	readers := func(names ...string) redislock.KeyState {
		s := redislock.KeyState{Key: "k", Mode: redislock.ModeRead, TTL: time.Minute}
		for _, name := range names {
			s.Holders = append(s.Holders, redislock.Holder{Metadata: name, TTL: time.Minute})
		}
		return s
	}
	since := func(s redislock.KeyState, seconds float64) redislock.KeyState {
		s.Holders = []redislock.Holder{{Metadata: "a", Since: at(seconds).server}}
		return s
	}
	fenced := func(s redislock.KeyState, number int64) redislock.KeyState {
		s.Fence = number
		return s
	}
	for _, tt := range []struct {
		name   string
		states []redislock.KeyState // one a second
		want   string
		held   time.Duration
	}{
		{"one look says nothing", []redislock.KeyState{a}, "-", 0},
		{"the same", []redislock.KeyState{a, a, a}, "-", 2 * time.Second},
		{"another each time", []redislock.KeyState{a, b, a, b, a}, ">1.0", 0},
		{"one in between", []redislock.KeyState{a, a, b, b, b}, ">0.2", 2 * time.Second},
		{"free in between", []redislock.KeyState{a, nobody, a, nobody, b}, ">0.5", 0},
		{"it becomes free", []redislock.KeyState{a, nobody}, "-", 0},
		{"the same, since later", []redislock.KeyState{since(a, 0), since(a, 1), since(a, 2)}, ">1.0", 0},
		{"the same, with a greater number", []redislock.KeyState{fenced(a, 1), fenced(a, 7), fenced(a, 7)}, ">0.5", 0},
		{"readers come", []redislock.KeyState{readers("a"), readers("a", "b"), readers("a", "b", "c")}, ">1.0", 0},
		{"a reader goes", []redislock.KeyState{readers("a", "b"), readers("b"), readers("b")}, "-", 2 * time.Second},
		{"out of the window", slices.Concat([]redislock.KeyState{a}, slices.Repeat([]redislock.KeyState{b}, 15)), "-", 14 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := newTable(nil)
			for i, state := range tt.states {
				table.observe(at(float64(i), state))
			}
			r := only(t, table)
			if got := rateText(r); got != tt.want {
				t.Errorf("got %s hand-offs a second, want %s", got, tt.want)
			}
			if tt.held > 0 && r.held != tt.held {
				t.Errorf("held for %v, want %v", r.held, tt.held)
			}
		})
	}
}

// Two looks that are close say nothing about a second.
func TestRateNeedsTime(t *testing.T) {
	t.Parallel()
	table := newTable(nil)
	table.observe(at(0, held("k", "a", time.Minute)))
	table.observe(at(0.001, held("k", "b", time.Minute)))
	if r := only(t, table); r.hasRate {
		t.Errorf("got %v hand-offs a second after a millisecond", r.rate)
	}
}

func TestHeldBySince(t *testing.T) {
	t.Parallel()
	state := held("k", "a", time.Minute)
	state.Holders[0].Since = at(-60).server
	table := newTable(nil)
	table.observe(at(0, state))
	if r := only(t, table); r.heldText() != "1m00s" {
		t.Errorf("held for %s, want 1m00s", r.heldText())
	}
	state.Holders = []redislock.Holder{{Metadata: "b", Since: at(99).server}} // its clock is wrong
	table.observe(at(1, state))
	table.observe(at(3, state))
	if r := only(t, table); r.heldText() != ">2.0s" {
		t.Errorf("held for %s, want >2.0s", r.heldText())
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	foreign := redislock.KeyState{Key: "k", Mode: redislock.ModeForeign, Type: "list", TTL: -1}
	wanted := foreign
	wanted.Line = []redislock.Waiter{waits(0)}
	short := func(line ...redislock.Waiter) redislock.KeyState { return held("k", "a", 5*time.Second, line...) }
	for _, tt := range []struct {
		name    string
		samples []sample
		want    level
		why     string
	}{
		{"nobody waits", []sample{at(0, short()), at(99, short())}, fine, ""},
		{"the line moves", []sample{at(0, short(waits(-2))), at(3, held("k", "b", 5*time.Second, waits(1)))}, fine, "1 waiter, the first for 2.0s"},
		{"the same holder", []sample{at(0, short(waits(0))), at(30, short(waits(0)))}, stuck, "held for >30s by the same; 1 waiter, the first for 30s, 6 leases"},
		{"the same holder, a long lease", []sample{at(0, held("k", "a", time.Minute, waits(0))), at(30, held("k", "a", time.Minute, waits(0)))}, fine, "1 waiter, the first for 30s"},
		{"holders change", []sample{at(0, short(waits(0))), at(30, held("k", "b", 5*time.Second, waits(0)))}, slow, "1 waiter, the first for 30s, 6 leases"},
		{"the dead do not wait", []sample{at(0, short(dead(0))), at(30, short(dead(0)))}, slow, "nobody of 1 waiter is alive"},
		{"some are dead", []sample{at(0, short(dead(0), waits(-1)))}, fine, "1 waiter, the first for 1.0s; 1 more are gone"},
		{"the line grows", []sample{at(0, held("k", "a", time.Hour)), at(31, held("k", "a", time.Hour, waits(30), waits(30), waits(30)))}, slow, "held for >31s by the same, and 3 more wait than before"},
		{"a lease of hours", []sample{at(0, held("k", "a", 5*time.Hour, waits(-1)))}, slow, "the lease goes on for 5h00m"},
		{"no lock", []sample{at(0, foreign)}, slow, "foreign: a list without a TTL"},
		{"no lock, and wanted", []sample{at(0, wanted)}, stuck, "foreign: a list without a TTL; 1 waiter"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := newTable([]string{"k"})
			for _, s := range tt.samples {
				table.observe(s)
			}
			if r := only(t, table); r.level != tt.want || !strings.HasPrefix(r.why, tt.why) || tt.why == "" && r.why != "" {
				t.Errorf("got %d, %q, want %d, %q", r.level, r.why, tt.want, tt.why)
			}
		})
	}
}

// A key that is free stays for a while, and one that is named for ever.
func TestForget(t *testing.T) {
	t.Parallel()
	found, named := newTable(nil), newTable([]string{"k", "never"})
	for _, table := range []*table{found, named} {
		table.observe(at(0, held("k", "a", time.Minute), free("other")))
		table.observe(at(5, free("k")))
	}
	if got := len(found.rows()); got != 1 {
		t.Errorf("got %d rows, want that of the key that was locked 5 s before", got)
	}
	found.observe(at(11, free("k")))
	named.observe(at(11, free("k")))
	if got := len(found.rows()); got != 0 {
		t.Errorf("got %d rows, want none after 11 s", got)
	}
	if got := len(named.rows()); got != 2 {
		t.Errorf("got %d rows, want both keys that were named", got)
	}
}

// What is on the screen is looked at first, and everything has its turn.
func TestChoose(t *testing.T) {
	t.Parallel()
	table := newTable(nil)
	for i := range 100 {
		table.observe(at(float64(i)/100, held(fmt.Sprintf("k%02d", i), "a", time.Minute)))
	}
	got := table.choose([]string{"k99", "k97", "gone"}, 4.5*lookCost)
	if len(got) != 4 || got[0] != "k97" || got[1] != "k99" || got[2] != "k00" || got[3] != "k01" {
		t.Errorf("chose %q, want k97, k99, k00 and k01", got)
	}
	if got := table.choose(nil, 1); len(got) != 1 {
		t.Errorf("chose %q, want one at least", got)
	}
	turn := make(map[string]bool)
	for i := range 60 {
		for _, key := range table.choose([]string{"k99"}, 4*lookCost+1) {
			turn[key] = true
			table.observe(at(2+float64(i), held(key, "a", time.Minute)))
		}
	}
	if len(turn) != 100 {
		t.Errorf("%d of 100 keys had their turn", len(turn))
	}
	if got := newTable(nil).choose(nil, 1000); len(got) != 0 {
		t.Errorf("chose %q of an empty table", got)
	}
}

// A table does not grow without end.
func TestMostKeys(t *testing.T) {
	t.Parallel()
	table := newTable(nil)
	states := make([]redislock.KeyState, mostKeys+5)
	for i := range states {
		states[i] = held(fmt.Sprint(i), "a", time.Minute)
	}
	table.observe(at(0, states...))
	if got := len(table.tracks); got != mostKeys || !table.missed {
		t.Errorf("got %d keys, missed %v, want %d, and that there are more", got, table.missed, mostKeys)
	}
}
