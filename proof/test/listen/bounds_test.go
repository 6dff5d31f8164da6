package listen_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
)

// A notice names up to 8 KiB of keys, each counted with 8 bytes more. A larger set is not named, so it may be any key.
func TestNoticeNamesSomeKeys(t *testing.T) {
	const most = 8 << 10
	for _, c := range []struct {
		keys []string
		want int // so many are named
	}{
		{[]string{strings.Repeat("k", most-8)}, 1},
		{[]string{strings.Repeat("k", most-7)}, 0},
		{[]string{"a", "b", strings.Repeat("k", most-26)}, 3},
		{[]string{"a", "b", strings.Repeat("k", most-25)}, 0},
	} {
		n, ok := listen.ParseNotice(listen.Notice{Reason: "why", Keys: c.keys}.Text())
		if !ok || n.Reason != "why" || len(n.Keys) != c.want {
			t.Errorf("%d keys, the last with %d bytes: %d are named, want %d", len(c.keys), len(c.keys[len(c.keys)-1]), len(n.Keys), c.want)
		}
		if named := c.want > 0; n.Concerns([]string{"another"}) == named {
			t.Errorf("%d keys: it concerns another one: %t", len(c.keys), !named)
		}
	}
}

// A notice with more than 12 KiB is none.
func TestNoticeThatIsTooLarge(t *testing.T) {
	const most = 12 << 10
	for size, want := range map[int]bool{most: true, most + 1: false} {
		reason := strings.Repeat("x", size-len("b|12345|0|"))
		text := listen.Notice{Reason: reason}.Text()
		if len(text) != size {
			t.Fatalf("got %d bytes, want %d", len(text), size)
		}
		if n, ok := listen.ParseNotice(text); ok != want || ok && n.Reason != reason {
			t.Errorf("%d bytes: it counts as a notice: %t, want %t", size, ok, want)
		}
	}
}

// Numbers in messages are decimal, and as large as Redis counts.
func TestNumbersInMessages(t *testing.T) {
	for _, n := range []int64{10, 89, math.MaxInt32 + 1, math.MaxInt64} {
		oneServer(t, func(t *testing.T, r *rig) {
			w := r.subscribed(t, "waiter", "a")
			r.Deliver(fmt.Sprintf("g|%s|%d|%d", w.ID, n, n/2))
			want(t, w, news{subscribed: true, granted: listen.Grant{Micros: n, Number: n / 2}})
			r.cut() // otherwise the server is asked for all that time whether it is still there
			w.AskAt(2 * clock.Longest)
			r.Deliver(fmt.Sprintf("h|waiter  |%d", n))
			wantDue(t, w, clock.FromMillis(n)+clock.AfterEnd)
		})
	}
	oneServer(t, func(t *testing.T, r *rig) {
		w := r.subscribed(t, "waiter", "a")
		w.AskAt(time.Minute)
		r.Deliver("h|waiter  |0")
		wantDue(t, w, clock.AfterEnd)
		w.Ask()
		w.AskAt(time.Second)
		r.Deliver("h|waiter  |-1") // it is no time
		wantDue(t, w, time.Second)
		r.Deliver(fmt.Sprintf("g|%s|1|%d", w.ID, math.MaxInt64))
		want(t, w, news{subscribed: true, granted: listen.Grant{Micros: 1, Number: math.MaxInt64}})
	})
}

// However often a waiter is told to ask before it looks, it is told once.
func TestToldOnce(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		w := r.subscribed(t, "waiter", "a")
		for range 3 {
			r.Deliver("w|waiter  ")
		}
		want(t, w, news{subscribed: true, wake: true})
		want(t, w, news{subscribed: true})
	})
}
