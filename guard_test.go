package redislock

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
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
	by    *asker
}

func newManual(t *testing.T) manual {
	t.Helper()
	conn := wire.New(&noRedis{}, wire.Options{})
	return manual{t, new(owners.Owner), conn, &asker{client: &Client{conn: conn}, value: manualValue}}
}

var manualValue = "token|metadata"

// call prepares a call with its line beside each key: an Obtain, a release, or a Refresh that may shorten; or a Refresh
// that cannot, which has no lines.
func (d manual) call(what string, keys ...string) *call {
	d.t.Helper()
	set, err := (&settings{maxKeys: 10}).newKeySet(Set{Write: keys}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	c := new(call)
	switch what {
	case "obtain":
		(&proto.Obtain{Set: set.Set, Value: &manualValue, TTL: time.Second}).Fill(&c.run)
	case "release":
		(&proto.Release{Set: set.Set, Value: &manualValue}).Fill(&c.run)
	case "downgrade":
		proto.Convert{Set: set.as(0).Set, Value: &manualValue, TTL: time.Second}.Fill(&c.run)
	default:
		proto.Refresh{Set: set.Set, Value: &manualValue, TTL: time.Second, NeverShortens: what == "lengthen"}.Fill(&c.run)
	}
	c.begins(d.t.Context()).isOf(d.by, d.owner)
	return c
}

// sent is what a call would send.
func (d manual) sent(c *call) decode.Call {
	d.t.Helper()
	keys, _ := c.run.Size()
	var words []string
	for _, arg := range c.run.Append(nil)[1:] {
		if text, ok := arg.(*string); ok {
			arg = *text
		}
		words = append(words, fmt.Sprint(arg))
	}
	sent, err := decode.Decode(c.run.Script().Name(), words[:keys], words[keys:])
	if err != nil {
		d.t.Fatal(err)
	}
	return sent
}

// sends has a try be sent, and checks its stamp, as owner|number| and owner|number|line| for each guard, and the lines that
// stand behind its keys for that.
func (d manual) sends(c *call, stamp string, lines ...string) {
	d.t.Helper()
	c.Before()
	sent, got := d.sent(c), ""
	if s := sent.Stamp; s.Is {
		got = fmt.Sprintf("%s|%d|", s.Owner, s.Number)
		for _, g := range s.Closes {
			got += fmt.Sprintf("%s|%d|%s|", g.Owner, g.Number, g.Line)
		}
	}
	if got != stamp || !slices.Equal(sent.Guards, lines) {
		d.t.Fatalf("got stamp %q and lines %q, want %q and %q", got, sent.Guards, stamp, lines)
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

// The stamp has the name, and the guards to set with their lines. A call that has no lines is given those that it needs.
func TestStampText(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	lost := d.call("obtain", "a", "b")
	d.sends(lost, "") // it has its line at hand
	d.ends(lost, io.EOF)
	d.sends(lost, "token|1|token|1|redislock:line:{a}|")
	d.sends(d.call("release", "c"), "token|1|")
	d.sends(d.call("release", "b"), "token|1|token|1|redislock:line:{a}|", lineOf("a"))
	d.sends(d.call("lengthen", "b"), "token|1|token|1|redislock:line:{a}|", lineOf("b"), lineOf("a"))
	d.sends(d.call("shorten", "a", "b"), "token|1|token|1|redislock:line:{a}|")
}

// Of several requests that it closes, each line has one guard.
func TestStampOfSeveralHomes(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	for i, lost := range []*call{d.call("obtain", "a", "c"), d.call("release", "a", "c"), d.call("obtain", "b", "c")} {
		d.sends(lost, []string{"", "token|1|token|1|redislock:line:{a}|", "token|2|token|2|redislock:line:{a}|"}[i], [][]string{nil, nil, {lineOf("a")}}[i]...)
		d.ends(lost, io.EOF)
	}
	d.sends(d.call("release", "c"), "token|3|token|3|redislock:line:{a}|token|3|redislock:line:{b}|", lineOf("a"), lineOf("b"))
}

// A line has a guard of each id of the owner.
func TestStampOfSeveralIDs(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	c := d.call("release", "a")
	stamp := owners.Stamp{Numbered: true, Name: owners.Name{ID: "new", Number: 3}}
	for _, id := range []string{"new", "old", "older", "old"} {
		stamp.Closes = append(stamp.Closes, &owners.Sent{Name: owners.Name{ID: id, Number: 2}, Home: lineOf("a")})
	}
	c.run.Prepare(&stamp)
	last, line := int64(owners.LastNumber), lineOf("a")
	want := decode.Stamp{Is: true, Owner: "new", Number: 3, Home: line, Closes: []decode.Closing{
		{Owner: "new", Number: 3, Line: line}, {Owner: "old", Number: last, Line: line}, {Owner: "older", Number: last, Line: line},
	}}
	if diff := cmp.Diff(want, d.sent(c).Stamp); diff != "" {
		t.Errorf("stamp (-want +got):\n%s", diff)
	}
}

// What is no answer of the script says nothing of the request, which may come late.
func TestStampStrangeAnswer(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	strange, next := d.call("release", "a"), d.call("release", "a")
	d.sends(strange, "")
	d.ends(strange, "OK")
	d.sends(next, "token|1|token|1|redislock:line:{a}|")
}

// A Refresh that was to shorten, and is not to any more, has no lines, and asks for its guard all the same.
func TestStampOfARefresh(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	d.sends(d.call("lengthen", "a"), "")
	d.sends(d.call("shorten", "a", "b"), "")
	yields := d.call("shorten", "a", "b")
	yields.run.Yield()
	d.sends(yields, "token|0|", lineOf("a"))
	if lines := d.sent(yields).Set.Lines; len(lines) > 0 {
		t.Errorf("it has the lines %q", lines)
	}
}

// A call that has done nothing has closed nothing: it was overtaken, it was refused by the server or by a proxy, or the user
// may not set guards.
func TestStampIsNotClosed(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]any{
		"overtaken": proto.Withdrawn, "refused": error(said("ERR unknown command")), "no answer": io.EOF,
		"not permitted": []any{int64(1), "open"}, "another's reply": "OK",
	} {
		d := newManual(t)
		lost, first, second := d.call("obtain", "a"), d.call("release", "a"), d.call("release", "a")
		d.sends(lost, "")
		d.ends(lost, io.EOF)
		d.sends(first, "token|1|token|1|redislock:line:{a}|")
		d.ends(first, outcome)
		if second.Before(); len(second.note.Load().Stamp.Closes) == 0 {
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
		if got := len(next.note.Load().Stamp.Closes) == 1; got != c.open {
			t.Errorf("%v: may come later: %t", c.err, got)
		}
	}
}

// A call that its caller has left before it was sent cannot come late.
func TestStampNotSent(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	waiting := d.call("obtain", "b")
	if !waiting.Abandon(nil) {
		t.Fatal("it was not left")
	}
	d.ends(waiting, wire.ErrNotSent)
	d.sends(d.call("release", "b"), "")
}

// alone prepares a call of a lock whose token nobody else knows, and of which nothing is known yet.
func (d manual) alone(what string, keys ...string) *call {
	d.t.Helper()
	c := d.call(what, keys...)
	c.note.Store(nil)
	c.isOf(d.by, nil)
	return c
}

// A call that its caller has left before it was sent is not sent any more, whether its owner knows of it or not. One that was
// answered before its caller has left, or that was never sent, cannot come late, so its owner need not know of it.
func TestStampOfWhoHasGone(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(manual, string, ...string) *call{"known": manual.call, "alone": manual.alone} {
		d := newManual(t)
		waiting := prepare(d, "obtain", "a")
		if !waiting.Abandon(nil) {
			t.Fatalf("%s: it was not left", name)
		}
		if waiting.Before() || !errors.Is(waiting.Err, wire.ErrNotSent) {
			t.Errorf("%s: it is sent, with error %v", name, waiting.Err)
		}
	}
	for name, answer := range map[string]any{"never sent": nil, "all was done": proto.AllDone, "anything else": int64(0)} {
		d := newManual(t)
		c := d.alone("obtain", "a")
		if answer != nil {
			d.sends(c, "")
			d.ends(c, answer)
		}
		c.Abandon(nil)
		if c.note.Load() != nil || d.by.owner.Load() != nil {
			t.Errorf("%s: the owner knows of a call that cannot come late", name)
		}
	}
}

// A call that its caller has left while it was under way is closed by the next one, whether its owner has known of it or not.
func TestStampOfWhoHasGoneMeanwhile(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(manual, string, ...string) *call{"known": manual.call, "alone": manual.alone} {
		d := newManual(t)
		late, next := prepare(d, "obtain", "a"), d.call("release", "a")
		d.sends(late, "")
		d.by.owner.Store(d.owner)
		if !late.Abandon(nil) {
			t.Fatalf("%s: it was not left", name)
		}
		if next.Before(); len(next.note.Load().Stamp.Closes) != 1 {
			t.Errorf("%s: the next one does not close it", name)
		}
	}
}

// A call that was prepared when nothing was known of its owner closes what has not been answered meanwhile.
func TestStampOfAnEarlierCall(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	early := d.alone("release", "a")
	d.by.owner.Store(d.owner)
	lost := d.call("obtain", "a")
	d.sends(lost, "")
	d.ends(lost, io.EOF)
	d.sends(early, "token|1|token|1|redislock:line:{a}|")
}

// What a release is not to free is said by the places of the keys. Each place is named once.
func TestStampSpared(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	elsewhere := wire.New(&noRedis{}, wire.Options{})
	d.owner.Stake(d.conn, nil, []string{"a", "b"}, nil)
	d.owner.Stake(d.conn, nil, []string{"b"}, nil)
	d.owner.Stake(elsewhere, nil, []string{"b", "d"}, nil)
	clearing := d.call("release", "a", "b", "c", "d")
	clearing.Before()
	want := []int{0, 1, 3}
	if got := d.sent(clearing).Spared; !slices.Equal(got, want) || !clearing.Alone {
		t.Errorf("got %v, alone %t, want %v by itself", got, clearing.Alone, want)
	}
}

// A call that is withdrawn is not sent, and counts as overtaken.
func TestStampWithdrawn(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	c := d.call("downgrade", "a")
	d.owner.Stake(d.conn, nil, []string{"a"}, nil)
	if c.Before() || !c.isOvertaken() || !errors.Is(c.Err, nil) {
		t.Errorf("got reply %v and error %v, want one that was overtaken", c.Reply, c.Err)
	}
}

// A call that is used again knows nothing of the one that it was.
func TestRecycledCall(t *testing.T) {
	t.Parallel()
	d := newManual(t)
	c := d.call("release", "a")
	d.sends(c, "")
	d.by.client.recycle(c)
	if c.note.Load() != nil || c.of != nil || c.flies.Load() {
		t.Error("it is that of its former lock still")
	}
}
