package wire

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A server is a sender that answers each command.
type server func(command)

func (answer server) send(commands []command, _ func(command) bool) {
	for _, p := range commands {
		p.prepare(clock.Now(), false)
	}
	for _, p := range commands {
		answer(p)
	}
}

// newServed makes a lane to such a server.
func newServed(t *testing.T, answer server) (*Conn, *lane) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	conn := New(rdb, Options{Bundle: newBundle()})
	return conn, conn.oneLane(answer, 0)
}

// newAsking makes a call that somebody waits for.
func newAsking(conn *Conn, value, key string) *Call {
	conn.under.Add(1)
	c := &Call{conn: conn, Wish: Wish{
		Context: context.Background(), Run: &said{key, value, 1000, false}, Alike: true,
	}}
	c.done = make(chan struct{}, 1)
	return c
}

var asks = NewScript("asks", func(string) string { return "return 2" })

// isOver reports whether the outcome of a call is there.
func (c *Call) isOver() bool { return len(c.done) == 1 }

// What refuses one of several calls that are alike refuses all of them, and is asked for once.
func TestAlikeAreRefusedTogether(t *testing.T) {
	t.Parallel()
	no := []any{undone, int64(1), "write", int64(500), "who"}
	var sent [][]*Call
	conn, l := newServed(t, func(p command) {
		sent = append(sent, p.calls())
		p.cmd().SetVal(no)
	})
	one, another := newAsking(conn, "a", "k"), newAsking(conn, "b", "k")
	longer, elsewhere := newAsking(conn, "c", "k"), newAsking(conn, "d", "other")
	known, doubted := newAsking(conn, "e", "k"), newAsking(conn, "f", "k")
	longer.Run.(*said).ttl, known.Alike, doubted.Unanswered = 2000, false, clock.Now()
	batch := []*Call{one, longer, elsewhere, known, doubted, another}
	l.exchange(slices.Clone(batch))
	if want := 5; len(sent) != want || !slices.Equal(sent[0], []*Call{one, another}) {
		t.Errorf("got %d commands, the first of %d calls, want %d and 2", len(sent), len(sent[0]), want)
	}
	for i, c := range batch {
		if reply, ok := c.Reply.([]any); !c.isOver() || c.Err != nil || !ok || !slices.Equal(reply, no) || c.Sent == (clock.Moment{}) {
			t.Errorf("call %d: over %t, error %v, reply %v", i, c.isOver(), c.Err, c.Reply)
		}
	}
}

// The try of a call ends when its caller has gone, or no longer waits for a connection. That is no answer to the calls
// that are alike.
func TestAlikeBehindOneWhoHasGone(t *testing.T) {
	t.Parallel()
	no := []any{undone, int64(1), "write", int64(500), "who"}
	for name, ends := range map[string]func(c *Call) error{
		"left":               func(c *Call) error { c.Abandon(nil); return context.Canceled },
		"without connection": func(*Call) error { return errGone },
	} {
		var gone *Call
		conn, l := newServed(t, func(p command) {
			if p.calls()[0] == gone {
				p.cmd().SetErr(ends(gone))
				return
			}
			p.cmd().SetVal(no)
		})
		gone = newAsking(conn, "a", "k")
		others := []*Call{newAsking(conn, "b", "k"), newAsking(conn, "c", "k")}
		l.exchange(append([]*Call{gone}, others...))
		for i, c := range others {
			if !c.isOver() || c.Err != nil || !c.Run.IsRefusal(c.Reply) {
				t.Errorf("%s: call %d: over %t, error %v, reply %v", name, i, c.isOver(), c.Err, c.Reply)
			}
		}
	}
}

// If one is granted what it asks for it does not wait for the others, which are asked for then.
func TestAlikeBehindTheGranted(t *testing.T) {
	t.Parallel()
	var batch []*Call
	var sent []int
	conn, l := newServed(t, func(p command) {
		sent = append(sent, len(p.calls()))
		if p.calls()[0] == batch[0] {
			p.cmd().SetVal(done)
			return
		}
		if !batch[0].isOver() {
			t.Error("the granted one waits for those that are not")
		}
		p.cmd().SetVal([]any{undone})
	})
	for _, value := range []string{"a", "b", "c"} {
		batch = append(batch, newAsking(conn, value, "k"))
	}
	l.exchange(slices.Clone(batch))
	if want := []int{3, 2}; !slices.Equal(sent, want) {
		t.Errorf("got commands of %v calls, want %v", sent, want)
	}
	for i, c := range batch {
		if granted := c.Reply == any(done); !c.isOver() || c.Err != nil || granted != (i == 0) {
			t.Errorf("call %d: over %t, error %v, granted %t", i, c.isOver(), c.Err, granted)
		}
	}
}

// An error is that of all.
func TestAlikeFailTogether(t *testing.T) {
	t.Parallel()
	sent := 0
	conn, l := newServed(t, func(p command) {
		sent++
		p.SetErr(refused("NOPERM this user has no permissions"))
	})
	batch := []*Call{newAsking(conn, "a", "k"), newAsking(conn, "b", "k")}
	l.exchange(slices.Clone(batch))
	for i, c := range batch {
		if !c.isOver() || !errors.Is(c.Err, refused("NOPERM this user has no permissions")) {
			t.Errorf("call %d: over %t, error %v", i, c.isOver(), c.Err)
		}
	}
	if sent != 1 {
		t.Errorf("got %d commands, want 1", sent)
	}
}

// What a bundle has done does not wait for what it has not.
func TestDoneDoNotWaitForUndone(t *testing.T) {
	t.Parallel()
	var batch []*Call
	conn, l := newServed(t, func(p command) {
		if len(p.calls()) > 1 {
			p.cmd().SetVal([]any{done, undone})
			return
		}
		if !batch[0].isOver() {
			t.Error("what was done waits")
		}
		p.cmd().SetVal([]any{undone})
	})
	batch = []*Call{newAsking(conn, "a", "k"), newAsking(conn, "b", "k")}
	for _, c := range batch {
		c.Plain = true
	}
	l.exchange(slices.Clone(batch))
	if !batch[1].isOver() {
		t.Error("what was not done is not asked for by itself")
	}
}

// Those who ask again do not go where others would wait behind them.
func TestAgainGoesBeside(t *testing.T) {
	t.Parallel()
	conn, _ := newServed(t, nil)
	first, again := newAsking(conn, "a", "k"), newAsking(conn, "b", "k")
	again.Repeats = true
	if beside := conn.lane(again); conn.lane(first) != conn.main || beside == conn.main || beside.limit != repeatsUnderWay {
		t.Error("they share a lane")
	}
	alone := New(struct{ redis.Scripter }{conn.rdb}, Options{})
	if alone.lane(again) != alone.lane(first) {
		t.Error("of a client of another type, where nobody waits behind anybody, there are two lanes")
	}
}
