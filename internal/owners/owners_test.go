package owners

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A client stands for one that has a Redis client of its own. It has a size, so that no two have the same address.
type client struct{ _ byte }

func (c *client) Identity() any { return c }

// A caller waits until it is set to true.
type caller bool

func (c *caller) IsAbandoned() bool { return bool(*c) }

// A manual is an owner whose requests a test sends and answers by hand.
type manual struct {
	t *testing.T
	*Owner
	by *client
}

func newManual(t *testing.T, shared bool) manual {
	t.Helper()
	w := &Owner{shared: shared}
	if shared {
		w.name.ID = "id"
	}
	return manual{t, w, &client{}}
}

// request prepares one: an obtain, a release, or a refresh that may shorten or cannot. Its home is its first key.
func (d manual) request(what string, keys ...string) *Note {
	d.t.Helper()
	r := &Note{Owner: d.Owner, Effect: Takes, Keys: keys, Home: keys[0], By: d.by, Of: d.by, Caller: new(caller)}
	switch what {
	case "release":
		r.Effect, r.Frees = Lessens, true
	case "shorten":
		r.Effect = Lessens
	case "lengthen":
		r.Effect = Lengthens
	}
	return r
}

// says returns the stamp of a request as a text: its name, and what it closes.
func says(r *Note) string {
	if !r.Stamp.Numbered {
		return ""
	}
	text := fmt.Sprintf("%s %d", r.Stamp.Name.ID, r.Stamp.Name.Number)
	for _, s := range r.Stamp.Closes {
		text += fmt.Sprintf(", closes %s %d at %s", s.ID, s.Number, s.Home)
	}
	return text
}

// sends hands a try to the owner as if it were sent, and checks its stamp.
func (d manual) sends(r *Note, want string) {
	d.t.Helper()
	d.Send(r)
	if got := says(r); got != want {
		d.t.Fatalf("got stamp %q, want %q", got, want)
	}
}

// An outcome is how a try has ended.
type outcome struct{ closed, mayCome bool }

var (
	done       = outcome{closed: true}
	unanswered = outcome{mayCome: true}
	refused    = outcome{} // by the server, which has done nothing and will not
)

func (d manual) ends(r *Note, o outcome) {
	d.t.Helper()
	d.Settle(r, o.closed, o.mayCome)
}

func (d manual) wantNothingKept() {
	d.t.Helper()
	if n := len(d.sent); n != 0 {
		d.t.Fatalf("%d requests are kept", n)
	}
}

// As long as every request is answered the number stays. A request that lessens nothing has no name in its stamp.
func TestStampWithoutFaults(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		d := newManual(t, shared)
		name := d.name.ID + " 0"
		for range 3 {
			for _, what := range []string{"obtain", "release"} {
				r := d.request(what, "a", "b")
				d.sends(r, name)
				d.ends(r, done)
			}
			long, short := d.request("lengthen", "a", "b"), d.request("shorten", "a", "b")
			d.sends(long, "")
			d.sends(short, name)
			d.ends(long, done)
			d.ends(short, done)
		}
		d.wantNothingKept()
	}
}

// Behind a request that was not answered the number goes up once, and everything that is sent closes it until
// one is answered; what has no key in common with it does not.
func TestStampCloses(t *testing.T) {
	t.Parallel()
	d := newManual(t, false)
	lost := d.request("obtain", "a", "b")
	d.sends(lost, " 0")
	d.ends(lost, unanswered)
	d.sends(lost, " 1, closes  0 at a") // again, by itself
	other := d.request("release", "c")
	d.sends(other, " 1")
	d.ends(other, done)
	release, renewal := d.request("release", "b"), d.request("lengthen", "b")
	d.sends(release, " 1, closes  0 at a")
	d.sends(renewal, " 1, closes  0 at a")
	d.ends(release, done)
	after := d.request("release", "a")
	d.ends(renewal, done)
	d.ends(lost, done)
	d.sends(after, " 1")
	d.ends(after, done)
	d.wantNothingKept()
}

// A request that has done nothing has closed nothing.
func TestStampIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]outcome{"refused": refused, "no answer": unanswered} {
		d := newManual(t, false)
		lost := d.request("obtain", "a")
		d.sends(lost, " 0")
		d.ends(lost, unanswered)
		first := d.request("release", "a")
		d.sends(first, " 1, closes  0 at a")
		d.ends(first, how)
		second := d.request("release", "a")
		d.Send(second)
		if len(second.Stamp.Closes) == 0 || second.Stamp.Closes[0] != lost.last {
			t.Errorf("%s: the next one closes %v", name, second.Stamp.Closes)
		}
	}
}

// An Obtain closes a release of its token that is under way; a release does not close an Obtain.
func TestStampUnderWay(t *testing.T) {
	t.Parallel()
	d := newManual(t, true)
	release, obtain := d.request("release", "a", "b"), d.request("obtain", "b")
	d.sends(release, "id 0")
	d.sends(obtain, "id 1, closes id 0 at a")
	d.sends(d.request("release", "b"), "id 1")
	d.ends(obtain, done)
	d.ends(release, unanswered)
	next := d.request("obtain", "a")
	d.Send(next)
	if n := len(next.Stamp.Closes); n != 0 {
		t.Errorf("it closes %d requests that are closed already", n)
	}
}

// What was closed by way of another Redis client is closed for that one alone: it may lead to another server.
func TestStampClosedElsewhere(t *testing.T) {
	t.Parallel()
	d := newManual(t, true)
	elsewhere := manual{t, d.Owner, &client{}}
	lost := d.request("obtain", "a")
	d.sends(lost, "id 0")
	d.ends(lost, unanswered)
	for _, stamp := range []string{"id 1, closes id 0 at a", "id 1"} {
		r := elsewhere.request("release", "a")
		elsewhere.sends(r, stamp)
		elsewhere.ends(r, done)
	}
	for _, stamp := range []string{"id 1, closes id 0 at a", "id 1"} {
		r := d.request("release", "a")
		d.sends(r, stamp)
		d.ends(r, done)
	}
	d.wantNothingKept()
}

// A request that is under way when its caller leaves may arrive at any time.
func TestStampLeft(t *testing.T) {
	t.Parallel()
	d := newManual(t, false)
	r := d.request("obtain", "a")
	d.sends(r, " 0")
	d.Abandon(r, false)
	d.sends(d.request("release", "a"), " 1, closes  0 at a")
	waiting := d.request("obtain", "b")
	*waiting.Caller.(*caller) = true
	d.Abandon(waiting, false)
	if d.Send(waiting) {
		t.Error("a request is sent whose caller has gone before")
	}
	d.Abandon(waiting, false)
	d.sends(d.request("release", "b"), " 1")
	answered, renewal := d.request("release", "c"), d.request("lengthen", "c")
	d.sends(answered, " 1")
	d.ends(answered, done)
	d.sends(renewal, "")
	for _, r := range []*Note{answered, renewal} {
		d.Abandon(r, false)
	}
	d.sends(d.request("release", "c"), " 1")
}

// At the last number the owner takes another id, and closes what it has sent under the former one.
func TestStampLastNumber(t *testing.T) {
	t.Parallel()
	d := newManual(t, false)
	d.name.Number = LastNumber - 1
	lost := d.request("release", "a")
	d.sends(lost, " 1048574")
	d.ends(lost, unanswered)
	d.Send(lost)
	if want := d.name.ID + " 0, closes  1048574 at a"; d.name.ID == "" || says(lost) != want {
		t.Errorf("got stamp %q, want %q", says(lost), want)
	}
	d.ends(lost, done)
	d.wantNothingKept()
}

// A release does not free what later holds of the token count on, and a clean-up nothing that any hold counts on, whichever
// Redis client it came by.
func TestStampSpares(t *testing.T) {
	t.Parallel()
	d := newManual(t, true)
	elsewhere := &client{}
	d.Stake(d.by, nil, []string{"a", "b"}, nil)
	release, clearing := d.request("release", "a", "b", "c"), d.request("release", "a", "b", "c")
	release.Since = d.Begin()
	d.Stake(d.by, nil, []string{"b"}, nil)
	d.Stake(elsewhere, nil, []string{"c"}, nil)
	for r, want := range map[*Note][]int{
		release:  {1},
		clearing: {0, 1, 2},
	} {
		d.Send(r)
		if !slices.Equal(r.Stamp.Spared, want) {
			t.Errorf("got %v spared, want %v", r.Stamp.Spared, want)
		}
	}
}

// What a release is to spare of other claims: nothing of those that have ended, or have other keys, or are of its own lock, or came by
// another Redis client.
func TestStampSparesNothing(t *testing.T) {
	t.Parallel()
	ended := func(clock.Moment) bool { return true }
	for name, claim := range map[string]func(d manual){
		"a hold that has ended":             func(d manual) { d.Stake(d.by, nil, []string{"a"}, ended) },
		"an operation whose hold has ended": func(d manual) { d.Holds(d.Stake(d.by, nil, []string{"a"}, nil), ended) },
		"other keys":                        func(d manual) { d.Stake(d.by, nil, []string{"b"}, nil) },
		"its own lock":                      func(d manual) { d.Stake(d.by, d.by, []string{"a"}, nil) },
		"another Redis client":              func(d manual) { d.Stake(&client{}, nil, []string{"a"}, nil) },
	} {
		d := newManual(t, true)
		release := d.request("release", "a")
		release.Since = d.Begin() // before any claim
		claim(d)
		if d.Send(release); len(release.Stamp.Spared) > 0 || release.Stamp.Yields || d.Yields(release) {
			t.Errorf("%s: it spares %v, yields %v", name, release.Stamp.Spared, release.Stamp.Yields)
		}
	}
}

// However often a request is not answered, it is noted once.
func TestStampOfManyTries(t *testing.T) {
	t.Parallel()
	d := newManual(t, true)
	for range 1000 {
		r := d.request("obtain", "a", "b")
		d.Send(r)
		d.ends(r, unanswered)
	}
	other := d.request("release", "b")
	d.Send(other)
	d.ends(other, unanswered)
	if n := len(d.sent); n != 2 {
		t.Errorf("%d requests are kept, want 2", n)
	}
	last := d.request("release", "a", "b")
	d.Send(last)
	d.ends(last, done)
	d.wantNothingKept()
}

// An owner is not forgotten as long as a guard of its may stand: with a new id it could not distinguish the late from
// the new.
func TestStampIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newManual(t, true)
		lost, next := d.request("obtain", "a"), d.request("obtain", "a")
		d.sends(lost, "id 0")
		d.ends(lost, unanswered)
		if d.isIdle() {
			t.Error("what was not answered is forgotten at once")
		}
		d.sends(next, "id 1, closes id 0 at a")
		d.ends(next, done)
		d.wantNothingKept()
		time.Sleep(GuardLife - time.Second)
		if d.isIdle() {
			t.Error("it is forgotten while a guard may stand")
		}
		time.Sleep(2 * time.Second)
		if !d.isIdle() {
			t.Error("it is not forgotten")
		}
	})
}
