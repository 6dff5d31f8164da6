package redislock

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/wire"
)

// A desk is an owner whose requests a test sends and answers by hand.
type desk struct {
	t *testing.T
	*owner
	conn *wire.Conn
}

// noRedis is a Redis client to which nothing is sent.
type noRedis struct{ redis.Scripter }

func newConn() *wire.Conn { return wire.New(&noRedis{}, wire.Options{}) }

func newDesk(t *testing.T, shared bool) desk {
	t.Helper()
	w := &owner{shared: shared}
	if shared {
		w.name.id = "id"
	}
	return desk{t, w, newConn()}
}

var deskValue = "token|metadata"

// call prepares a request: an Obtain, a release, or a refresh that may shorten or cannot.
func (d desk) call(what string, keys ...string) *call {
	d.t.Helper()
	set, err := newKeySet(keys, nil, 10)
	if err != nil {
		d.t.Fatal(err)
	}
	c := newCall(d.t.Context(), obtainScript, set.keys, set.lines, &deskValue, 1000)
	c.ownedBy(d.owner, takes, d.conn)
	switch what {
	case "release":
		c.Script, c.effect, c.frees = releaseScript.Script, lessens, true
	case "shorten", "lengthen":
		c.Script, c.lined, c.Beside, c.effect = refreshScript.Script, false, nil, lessens
		if what == "lengthen" {
			c.effect = lengthens
		}
	}
	return c
}

// sends has a try be sent, and checks what its stamp says.
func (d desk) sends(c *call, stamp string, lines ...string) {
	d.t.Helper()
	d.stamp(c)
	if c.stamp != stamp || !slices.Equal(c.lines, lines) {
		d.t.Fatalf("got stamp %q and lines %q, want %q and %q", c.stamp, c.lines, stamp, lines)
	}
}

// ends has a try end so: with a reply of its script, or an error.
func (d desk) ends(c *call, outcome any) {
	d.t.Helper()
	c.Reply, c.Err = outcome, nil
	if err, ok := outcome.(error); ok {
		c.Reply, c.Err = nil, err
	}
	c.After(c.Err != nil && wire.MayCome(c.Err))
}

func (d desk) wantNothingKept() {
	d.t.Helper()
	if n := len(d.requests); n != 0 {
		d.t.Fatalf("%d requests are kept", n)
	}
}

// As long as every request is answered nothing is counted, and a token that nobody else knows needs no stamp.
// A Refresh that may shorten asks for its guard also then.
func TestStampWithoutFaults(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		d := newDesk(t, shared)
		id, stamp := "token", ""
		if shared {
			id, stamp = "id", "2|id|0|"
		}
		for range 3 {
			for _, what := range []string{"obtain", "release"} {
				c := d.call(what, "a", "b")
				d.sends(c, stamp)
				d.ends(c, int64(1))
			}
			long, short := d.call("lengthen", "a", "b"), d.call("shorten", "a", "b")
			d.sends(long, "")
			d.sends(short, "2|"+id+"|0|", lineOf("a"))
			d.ends(long, int64(1))
			d.ends(short, []any{int64(0), int64(1)})
		}
		d.wantNothingKept()
	}
}

// Behind a request that was not answered the number goes up once, and everything that is sent closes it until
// one is answered; what has no key in common with it does not.
func TestStampCloses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	lost := d.call("obtain", "a", "b")
	d.sends(lost, "")
	d.ends(lost, io.ErrUnexpectedEOF)
	d.sends(lost, "2|token|1|token|1|3|") // again, by itself
	other := d.call("release", "c")
	d.sends(other, "1|token|1|")
	d.ends(other, int64(1))
	release, renewal := d.call("release", "b"), d.call("lengthen", "b")
	d.sends(release, "1|token|1|token|1|3|", lineOf("a"))
	d.sends(renewal, "1|token|1|token|1|3|", lineOf("b"), lineOf("a")) // only its keys are counted by a reply
	d.ends(release, int64(1))
	after := d.call("release", "a")
	d.ends(renewal, int64(1))
	d.ends(lost, int64(1))
	d.sends(after, "1|token|1|")
	d.ends(after, int64(1))
	d.wantNothingKept()
}

// What has done nothing has closed nothing: it was overtaken, refused by the server or by something before it,
// or the user may not set guards.
func TestStampIsNotAnswered(t *testing.T) {
	t.Parallel()
	refused := refusal("ERR unknown command")
	for name, outcome := range map[string]any{
		"overtaken": int64(overtaken), "refused": error(refused), "no answer": io.EOF,
		"not permitted": []any{int64(1), "open"}, "another's reply": "OK",
	} {
		d := newDesk(t, false)
		lost := d.call("obtain", "a")
		d.sends(lost, "")
		d.ends(lost, io.EOF)
		first := d.call("release", "a")
		d.sends(first, "1|token|1|token|1|2|")
		d.ends(first, outcome)
		second := d.call("release", "a")
		d.stamp(second)
		if len(second.closes) == 0 || second.closes[0] != lost.request {
			t.Errorf("%s: the next one closes %v", name, second.closes)
		}
	}
}

// Of errors only those are no request to come that Redis itself gives, before or inside the script.
func TestStampErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		open bool
	}{
		{io.EOF, true},
		{refusal("upstream failure"), true},
		{refusal("ERR upstream failure"), true},
		{refusal("ERR something script: 1f, on @user_script:7."), false},
		{refusal("NOPERM this user has no permissions"), false},
		{refusal("OOM command not allowed"), false},
		{refusal("LOADING Redis is loading the dataset in memory"), false},
		{wire.ErrNotSent, false},
		{redis.ErrPoolTimeout, false},
	} {
		d := newDesk(t, false)
		one := d.call("release", "a")
		d.sends(one, "")
		d.ends(one, c.err)
		if got := len(d.requests) == 1; got != c.open {
			t.Errorf("%v: may come later: %t", c.err, got)
		}
	}
}

// An Obtain closes a release of its token that is under way; a release does not close an Obtain.
func TestStampUnderWay(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	release, obtain := d.call("release", "a", "b"), d.call("obtain", "b")
	d.sends(release, "2|id|0|")
	d.sends(obtain, "1|id|1|id|1|3|", lineOf("a"))
	d.sends(d.call("release", "b"), "1|id|1|")
	d.ends(obtain, int64(1))
	d.ends(release, io.EOF)
	next := d.call("obtain", "a")
	d.stamp(next)
	if n := len(next.closes); n != 0 {
		t.Errorf("it closes %d requests that are closed already", n)
	}
}

// Whoever leaves a call that is under way leaves a request that may come at any time.
func TestStampLeft(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	c := d.call("obtain", "a")
	d.sends(c, "")
	if !c.Leave(nil) {
		t.Fatal("it was not left")
	}
	d.sends(d.call("release", "a"), "1|token|1|token|1|2|")
	waiting := d.call("obtain", "b")
	waiting.Leave(nil) // before it was sent
	d.ends(waiting, wire.ErrNotSent)
	d.sends(d.call("release", "b"), "1|token|1|")
}

// At the last number the owner takes another id, and closes what it has sent under the former one.
func TestStampLastNumber(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.name.number = lastNumber - 1
	lost := d.call("release", "a")
	d.sends(lost, "1|token|1048574|")
	d.ends(lost, io.EOF)
	d.stamp(lost)
	if want := "1|" + d.name.id + "|0|token|1048575|2|"; d.name.id == "" || lost.stamp != want {
		t.Errorf("got stamp %q, want %q", lost.stamp, want)
	}
	d.ends(lost, int64(1))
	d.wantNothingKept()
}

// What a release is not to free is what others of the token count on who have come after it.
func TestStampSpares(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	mine, elsewhere := &Client{conn: d.conn}, &Client{conn: newConn()}
	d.stake(mine, []string{"a", "b"}, nil)
	release, clearing := d.call("release", "a", "b", "c"), d.call("release", "a", "b", "c")
	release.since = d.begin()
	d.stake(mine, []string{"b"}, nil)
	d.stake(elsewhere, []string{"c"}, nil)
	for c, want := range map[*call][]any{release: {"2"}, clearing: {"1", "2", "3"}} {
		d.stamp(c)
		if !slices.Equal(c.spared, want) {
			t.Errorf("got %v spared, want %v", c.spared, want)
		}
	}
}

// However often a request is not answered, it is kept in mind once.
func TestStampOfManyTries(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	for range 1000 {
		c := d.call("obtain", "a", "b")
		d.stamp(c)
		d.ends(c, io.EOF)
	}
	other := d.call("release", "b")
	d.stamp(other)
	d.ends(other, io.EOF)
	if n := len(d.requests); n != 2 {
		t.Errorf("%d requests are kept, want 2", n)
	}
	last := d.call("release", "a", "b")
	d.stamp(last)
	d.ends(last, int64(1))
	d.wantNothingKept()
}

// An owner is not forgotten as long as a guard of its may stand: with a new id it could not tell the late from
// the new.
func TestStampIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, true)
		lost, next := d.call("obtain", "a"), d.call("obtain", "a")
		d.sends(lost, "1|id|0|")
		d.ends(lost, refusal("ERR upstream failure"))
		if d.isIdle() {
			t.Error("what was not answered is forgotten at once")
		}
		d.sends(next, "1|id|1|id|1|2|")
		d.ends(next, int64(1))
		d.wantNothingKept()
		time.Sleep(guardLife - time.Second)
		if d.isIdle() {
			t.Error("it is forgotten while a guard may stand")
		}
		time.Sleep(2 * time.Second)
		if !d.isIdle() {
			t.Error("it is not forgotten")
		}
	})
}

// A refusal is an error of the server.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}
