//go:build compat

package compat_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// scripts is how many scripts the server has run.
func (w *world) scripts(t *testing.T) int {
	t.Helper()
	info := must(w.rdb.Info(t.Context(), "commandstats").Result())(t)
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^cmdstat_eval(?:sha)?:calls=(\d+)`).FindAllStringSubmatch(info, -1) {
		n += must(strconv.Atoi(m[1]))(t)
	}
	return n
}

// The release of one version hands over to a waiter of the other, which gets the message and asks no more.
func TestQueued(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct{ held, wanted compat.Request }{
			"one key":                {lock("a"), lock("a")},
			"with metadata":          {tagged(lock("a"), "x"), tagged(lock("a"), "y|z")},
			"a set":                  {lock("a", "b", "c"), lock("a", "b", "c")},
			"a reader":               {lock("a"), read("a")},
			"a writer after readers": {read("a"), lock("a")},
			"a number":               {fenced(lock("a", "b")), fenced(lock("a", "b"))},
			"a short lease":          {lasting(lock("a"), 2*time.Second), lasting(lock("a"), 2*time.Second)},
		} {
			// A waiter that is not notified asks by itself after some seconds. On a busy machine that may come first,
			// now and then, but not each time.
			byMessage := false
			for range 4 {
				w.holder.do(t, c.held)
				_, reply := w.waiter.begin(t, inLine(named(c.wanted, "later")))
				w.inLine(t, "a", 1)
				w.holder.conflict(t, named(read("a"), "other"), "a", mode(c.held), c.held.Metadata)
				before := w.scripts(t)
				w.holder.release(t, "a")
				granted(t, reply)
				asked := w.scripts(t) - before
				w.waiter.release(t, "later")
				if byMessage = asked == 1; byMessage {
					break
				}
			}
			if !byMessage {
				t.Fatalf("%s: the waiter has never got the lock by the message alone", name)
			}
		}
	})
}

// mode is the one in which a reader is refused: readers stand behind a waiter that wants to write.
func mode(held compat.Request) string {
	if len(held.Read) > 0 {
		return "queue"
	}
	return "write"
}

// One line of both versions is served in its order, and a caller without Queue waits behind it.
func TestMixedLine(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		w.holder.do(t, lock("a"))
		var turns []<-chan compat.Reply
		var who []*peer
		for i := range 6 {
			p := []*peer{w.waiter, w.holder}[i%2]
			_, reply := p.begin(t, named(inLine(lock("a")), fmt.Sprint(i)))
			w.inLine(t, "a", int64(i+1))
			turns, who = append(turns, reply), append(who, p)
		}
		for _, p := range who[:2] {
			if r := p.do(t, compat.Request{Op: compat.Inspect, Write: []string{"a"}}); r.Waiters != 6 {
				t.Errorf("the %s one sees %d in line, want 6", p.version, r.Waiters)
			}
		}
		id, given := w.waiter.begin(t, named(inLine(lock("a")), "gives up"))
		w.inLine(t, "a", 7)
		_, last := w.holder.begin(t, named(inLine(lock("a")), "last"))
		w.inLine(t, "a", 8)
		w.waiter.do(t, compat.Request{Op: compat.Cancel, Number: id})
		if r := await(t, given); r.Is != compat.Cancelled {
			t.Errorf("got %q, want that it was cancelled", r.Error)
		}
		w.inLine(t, "a", 7)

		w.holder.release(t, "a")
		for i, turn := range turns {
			granted(t, turn)
			for _, later := range turns[i+1:] {
				waits(t, later)
			}
			who[(i+1)%2].refused(t, lock("a"), compat.NotObtained)
			who[i].release(t, fmt.Sprint(i))
		}
		granted(t, last)
		w.holder.release(t, "last")
	})
}

// Waiters of both versions want sets that overlap, and readers that come together go in together.
func TestOverlapping(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		w.holder.do(t, lock("a", "b"))
		_, first := w.waiter.begin(t, named(inLine(lock("a", "c")), "first"))
		w.inLine(t, "a", 1)
		_, second := w.holder.begin(t, named(inLine(lock("b", "c")), "second"))
		w.inLine(t, "b", 1)
		_, third := w.waiter.begin(t, named(inLine(lock("c", "a")), "third"))
		w.inLine(t, "c", 3)
		w.holder.release(t, "a")
		granted(t, first)
		waits(t, second)
		waits(t, third)
		w.waiter.release(t, "first")
		granted(t, second)
		waits(t, third)
		_, reader := w.holder.begin(t, named(inLine(read("a")), "reader"))
		w.inLine(t, "a", 2)
		_, other := w.waiter.begin(t, named(inLine(read("a")), "other"))
		w.inLine(t, "a", 3)
		w.holder.release(t, "second")
		granted(t, third)
		w.waiter.release(t, "third")
		granted(t, reader)
		granted(t, other)
		w.holder.release(t, "reader")
		w.waiter.release(t, "other")
	})
}

// An entry that neither version can read keeps nobody out for ever, and causes no error.
func TestNotUnderstood(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		line := "redislock:line:{a}"
		w.holder.do(t, lock("a"))
		_, reply := w.waiter.begin(t, named(inLine(lock("a")), "later"))
		w.inLine(t, "a", 1)
		channels := must(w.rdb.PubSubChannels(t.Context(), "redislock:*").Result())(t)
		if len(channels) == 0 {
			t.Fatal("the waiter listens nowhere")
		}
		for _, message := range []string{"", "x", "g|x", "g||||", "z|1|2|3", "h|x|y", "g|nobody|1|2", "||||||||"} {
			for _, channel := range channels {
				if err := w.rdb.Publish(t.Context(), channel, message).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		var scores []float64
		for _, z := range must(w.rdb.ZRangeWithScores(t.Context(), line, 0, -1).Result())(t) {
			scores = append(scores, z.Score)
		}
		behind := 3 // of them stand there behind the waiter, or at its place
		strange := []string{"", "x", "x|y|z", "id|9999999999999|x|p--|1000|1|0|0|", "id|soon|w|p--|1000|1|0|0|"}
		if w.holderV == newer { // a release of the old one would fail; what stands behind the waiter would be left to it
			behind = 0
			strange = append(strange, "id|9999999999999|w|p--|1000|", "id|9999999999999|w|-p-|1000|1|0|0|v")
		}
		for i, member := range strange {
			if err := w.rdb.Do(t.Context(), "ZADD", line, scores[0]-float64(len(strange)-behind-i), member).Err(); err != nil {
				t.Fatal(err)
			}
		}
		waits(t, reply)
		w.holder.release(t, "a")
		granted(t, reply)
		w.waiter.release(t, "later")
		w.holder.do(t, lock("a"))
		w.holder.release(t, "a")
	})
}
