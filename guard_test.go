package redislock

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// noRedis is a Redis client to which nothing is sent.
type noRedis struct{ redis.Scripter }

// said is an error of the server.
type said string

func (r said) Error() string { return string(r) }
func (said) RedisError()     {}

// A manual is an owner whose calls a test sends and answers by hand.
type manual struct {
	t     *testing.T
	owner *owners.Owner
	conn  *wire.Conn
}

func newManual(t *testing.T) manual {
	t.Helper()
	return manual{t, new(owners.Owner), wire.New(&noRedis{}, wire.Options{})}
}

var manualValue = "token|metadata"

// call prepares a call with its line beside each key: an Obtain, a release, or a Refresh that may shorten; or a Refresh
// that cannot, which has no lines.
func (d manual) call(what string, keys ...string) *call {
	d.t.Helper()
	set, err := (&Client{maxKeys: 10}).newKeySet(keys, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	var c *call
	switch what {
	case "obtain":
		c = newCall(d.t.Context(), obtainScript, set.keys, set.lines, &manualValue, 1000)
		c.own.Effect, c.own.Home = owners.Takes, set.lines[0]
	case "release":
		c = newCall(d.t.Context(), releaseScript, set.keys, set.lines, &manualValue, 0)
		c.own.Effect, c.own.Home = owners.Lessens, set.lines[0]
	default:
		c = refreshCall(d.t.Context(), set, &manualValue, time.Second, what == "lengthen")
	}
	c.ownedBy(d.owner, d.conn)
	return c
}

// sends has a try be sent, and checks its stamp, and the lines behind its keys.
func (d manual) sends(c *call, stamp string, lines ...string) {
	d.t.Helper()
	c.Before()
	var got string
	if len(c.Stamp) > 0 {
		if text, ok := c.Stamp[0].(*string); ok {
			got = *text
		}
	}
	if got != stamp || !slices.Equal(c.Behind, lines) {
		d.t.Fatalf("got stamp %q and lines %q, want %q and %q", got, c.Behind, stamp, lines)
	}
}

// ends has a try end so: with a reply of its script, or an error.
func (d manual) ends(c *call, outcome any) {
	d.t.Helper()
	c.Reply, c.Err = outcome, nil
	if err, ok := outcome.(error); ok {
		c.Reply, c.Err = nil, err
	}
	c.After(c.Err != nil && wire.MayCome(c.Err))
}

// The stamp has the size of the set, the name, and the guards to set with the places of their lines. A call
// that has no lines is given those that it needs.
func TestStampText(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	lost := d.call("obtain", "a", "b")
	d.sends(lost, "") // it has its line at hand
	d.ends(lost, io.EOF)
	d.sends(lost, "2|token|1|token|1|3|")
	d.sends(d.call("release", "c"), "1|token|1|")
	d.sends(d.call("release", "b"), "1|token|1|token|1|3|", lineOf("a"))
	d.sends(d.call("lengthen", "b"), "1|token|1|token|1|3|", lineOf("b"), lineOf("a"))
	d.sends(d.call("shorten", "a", "b"), "2|token|1|token|1|3|")
}

// Of several requests that it closes, each line has one guard.
func TestStampOfSeveralHomes(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	for i, lost := range []*call{d.call("obtain", "a", "c"), d.call("release", "a", "c"), d.call("obtain", "b", "c")} {
		d.sends(lost, []string{"", "2|token|1|token|1|3|", "2|token|2|token|2|5|"}[i], [][]string{nil, nil, {lineOf("a")}}[i]...)
		d.ends(lost, io.EOF)
	}
	d.sends(d.call("release", "c"), "1|token|3|token|3|3|token|3|4|", lineOf("a"), lineOf("b"))
}

// A line has a guard of each id of the owner.
func TestStampOfSeveralIDs(t *testing.T) {
	t.Parallel()
	c := newManual(t).call("release", "a")
	c.own.Stamp = owners.Stamp{Numbered: true, Name: owners.Name{ID: "new", Number: 3}}
	for _, id := range []string{"new", "old", "older", "old"} {
		c.own.Stamp.Closes = append(c.own.Stamp.Closes, &owners.Sent{Name: owners.Name{ID: id, Number: 2}, Home: lineOf("a")})
	}
	last := strconv.Itoa(owners.LastNumber)
	if got, want := c.text(), "1|new|3|new|3|2|old|"+last+"|2|older|"+last+"|2|"; got != want {
		t.Errorf("got stamp %q, want %q", got, want)
	}
}

// What is no answer of the script says nothing of the request, which may come late.
func TestStampStrangeAnswer(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	strange, next := d.call("release", "a"), d.call("release", "a")
	d.sends(strange, "")
	d.ends(strange, "OK")
	d.sends(next, "1|token|1|token|1|2|")
}

// A Refresh that was to shorten, and is not to any more, has no lines, and asks for its guard all the same.
func TestStampOfARefresh(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	d.sends(d.call("lengthen", "a"), "")
	d.sends(d.call("shorten", "a", "b"), "")
	yields := d.call("shorten", "a", "b")
	yields.yield()
	d.sends(yields, "2|token|0|", lineOf("a"))
	if len(yields.Beside) > 0 {
		t.Errorf("it has the lines %q", yields.Beside)
	}
}

// A call that has done nothing has closed nothing: it was overtaken, it was refused by the server or by a proxy, or the user
// may not set guards.
func TestStampIsNotClosed(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]any{
		"overtaken": int64(overtaken), "refused": error(said("ERR unknown command")), "no answer": io.EOF,
		"not permitted": []any{int64(1), "open"}, "another's reply": "OK",
	} {
		d := newManual(t)
		lost, first, second := d.call("obtain", "a"), d.call("release", "a"), d.call("release", "a")
		d.sends(lost, "")
		d.ends(lost, io.EOF)
		d.sends(first, "1|token|1|token|1|2|")
		d.ends(first, outcome)
		if second.Before(); len(second.own.Stamp.Closes) == 0 {
			t.Errorf("%s: the next one closes nothing", name)
		}
	}
}

// After an error the request may still come late, unless Redis itself has given the error, before or inside the script.
func TestStampErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		open bool
	}{
		{io.EOF, true},
		{said("upstream failure"), true},
		{said("ERR upstream failure"), true},
		{said("ERR something script: 1f, on @user_script:7."), false},
		{said("NOPERM this user has no permissions"), false},
		{said("OOM command not allowed"), false},
		{said("LOADING Redis is loading the dataset in memory"), false},
		{wire.ErrNotSent, false},
		{redis.ErrPoolTimeout, false},
	} {
		d := newManual(t)
		one, next := d.call("release", "a"), d.call("release", "a")
		d.sends(one, "")
		d.ends(one, c.err)
		next.Before()
		if got := len(next.own.Stamp.Closes) == 1; got != c.open {
			t.Errorf("%v: may come later: %t", c.err, got)
		}
	}
}

// A call that its caller has left before it was sent cannot come late.
func TestStampNotSent(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	waiting := d.call("obtain", "b")
	if !waiting.Leave(nil) {
		t.Fatal("it was not left")
	}
	d.ends(waiting, wire.ErrNotSent)
	d.sends(d.call("release", "b"), "")
}

// What a release is not to free is said by the places of the keys. Each place is named once.
func TestStampSpared(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	elsewhere := wire.New(&noRedis{}, wire.Options{})
	d.owner.Count(d.conn, []string{"a", "b"}, nil)
	d.owner.Count(d.conn, []string{"b"}, nil)
	d.owner.Count(elsewhere, []string{"b", "c"}, nil)
	clearing := d.call("release", "a", "b", "c")
	clearing.own.Frees, clearing.mark = true, "id"
	clearing.marked = map[owners.Client]bool{elsewhere: true}
	clearing.Before()
	want := []any{"", "", "", "", "", "1", "2", "2|id", "3|id"}
	if !slices.Equal(clearing.Rest, want) || !clearing.Alone {
		t.Errorf("got %q, alone %t, want %q by itself", clearing.Rest, clearing.Alone, want)
	}
}

// A call that is withdrawn is not sent, and counts as overtaken.
func TestStampWithdrawn(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	c := d.call("shorten", "a")
	c.yield = func() { c.withdrawn = true }
	d.owner.Count(d.conn, []string{"a"}, nil)
	if c.Before() || !isOvertaken(c) || !errors.Is(c.Err, nil) {
		t.Errorf("got reply %v and error %v, want one that was overtaken", c.Reply, c.Err)
	}
}
