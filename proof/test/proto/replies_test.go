package proto_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

const (
	done      = int64(proto.Done)
	given     = int64(proto.Given)
	refused   = int64(proto.Refused)
	notYours  = int64(proto.NotYours)
	inLine    = int64(proto.InLine)
	overtaken = int64(proto.Overtaken)
)

// without is how a script says that there is no time.
const without = -time.Millisecond

// filled makes a new run of a request.
func filled(q proto.Request) *proto.Run {
	r := new(proto.Run)
	q.Fill(r)
	return r
}

// array is an array of a reply. Its numbers are those of Redis.
func array(values ...any) []any {
	all := append([]any{}, values...)
	for i, v := range all {
		if n, is := v.(int); is {
			all[i] = int64(n)
		}
	}
	return all
}

// inTheWay is what a script says of the second key: it is written for 5 ms.
func inTheWay(code int64, more ...any) []any {
	return append(array(code, 2, "write", 5, "who"), array(more...)...)
}

// second is what Go makes of that.
var second = proto.Conflict{Key: "b", Mode: "write", TTL: 5 * time.Millisecond, Stored: "who"}

// A reader of replies, for a run of some request.
type reader func(r *proto.Run, reply any) (any, error)

func answer(r *proto.Run, reply any) (any, error)   { return r.Answer(reply) }
func verdict(r *proto.Run, reply any) (any, error)  { return r.Verdict(reply) }
func released(r *proto.Run, reply any) (any, error) { return r.Released(reply) }
func state(r *proto.Run, reply any) (any, error)    { return r.State(reply) }

// Left is what Go makes of a reply to a TTL.
type left struct {
	TTL  time.Duration
	Ours bool
}

func ttl(r *proto.Run, reply any) (any, error) {
	d, ours, err := r.TTL(reply)
	return left{d, ours}, err
}

// Broke is what Go makes of a reply to a Break.
type broke struct {
	Broken   []proto.Broken
	Conflict *proto.Conflict
}

func broken(r *proto.Run, reply any) (any, error) {
	b, conflict, err := r.Broken(reply)
	return broke{b, conflict}, err
}

// Asking is what Go makes of a reply to a Round of two waiters.
type asking struct {
	Micros int64
	Asks   map[int]time.Duration
}

func asks(r *proto.Run, reply any) (any, error) {
	micros, all, err := r.Asks(reply, 2)
	return asking{micros, all}, err
}

// A reading has the replies to a request: what is made of some, and others that no script sends, which are an error.
type reading struct {
	request proto.Request
	read    reader
	good    []replied
	strange []any
}

type replied struct{ reply, want any }

func readings() map[string]reading {
	two, fenced := setOf(2, false, "a", "b"), setOf(2, true, "a", "b")
	waiter := &proto.Waiter{ID: "waiter", Channel: "channel"}
	late, overtook := replied{overtaken, proto.Answer{Code: proto.Overtaken}}, replied{overtaken, proto.Verdict{Code: proto.Overtaken}}
	standing := proto.Answer{
		Code: proto.InLine, Conflict: second, Place: proto.PlaceOf(7), Micros: 8, AskIn: 9 * time.Millisecond, Heard: true,
	}
	silent := standing
	silent.AskIn, silent.Heard = without, false
	foreign := proto.Conflict{Key: "a", Mode: proto.ModeForeign, TTL: without, Type: "hash"}
	stored := proto.Conflict{Key: "a", Mode: "read", Left: true, TTL: time.Second, Stored: "who"}
	token := owners.NewToken()
	at := owners.MadeAt(token[:8])
	next := &proto.Next{Value: &value, TTL: time.Minute}
	gives := func(set proto.Set) proto.Request { return giving{proto.Release{Set: set, Value: &value}, next} }
	return map[string]reading{
		"obtain": {
			&proto.Obtain{Set: two, Value: &value, TTL: time.Minute}, answer,
			[]replied{
				{done, proto.Answer{Code: proto.Done}},
				late,
				{inTheWay(refused), proto.Answer{Code: proto.Refused, Conflict: second}},
				{array(refused, 1, "foreign", -1, "hash"), proto.Answer{Conflict: foreign}},
				{array(refused, 1, "read-left", 1000, "who"), proto.Answer{Conflict: stored}},
			},
			[]any{
				"OK", nil, array(), array("1", 1), given, notYours, refused, inLine,
				array(done), array(done, 3), array(overtaken), array(overtaken, 1), inTheWay(notYours), inTheWay(given),
				array(refused), array(refused, 2), array(refused, 2, "write"), array(refused, 2, "write", 5),
				array(refused, 0, "write", 5, "who"), array(refused, 3, "write", 5, "who"),
				array(refused, "2", "write", 5, "who"), array(refused, 2, 1, 5, "who"),
				array(refused, 2, "write", "5", "who"), array(refused, 2, "write", 5, 1),
				inTheWay(refused, ""), inTheWay(inLine, 7, 8, 9, 1),
			},
		},
		"fenced": {
			&proto.Obtain{Set: fenced, Value: &value, TTL: time.Minute}, answer,
			[]replied{
				{array(done, 30), proto.Answer{Code: proto.Done, Numbers: proto.Numbers{First: 30, Last: 30}}},
				{array(done, 1), proto.Answer{Code: proto.Done, Numbers: proto.Numbers{First: 1, Last: 1}}},
				late,
				{inTheWay(refused), proto.Answer{Conflict: second}},
			},
			[]any{done, array(done, 0), array(done, -1), array(done, "1"), array(done, 1, 1), inTheWay(refused, 2)},
		},
		"a block": {
			&proto.Obtain{Set: fenced, Value: &value, TTL: time.Minute, Block: true}, answer,
			[]replied{{array(done, 30), proto.Answer{Code: proto.Done, Numbers: proto.Numbers{First: 30 - proto.Block, Last: 30}}}},
			[]any{done, array(done, proto.Block)},
		},
		"in line": {
			&proto.Obtain{Set: two, Value: &value, TTL: time.Minute, Waiter: waiter}, answer,
			[]replied{
				{done, proto.Answer{Code: proto.Done}},
				{inTheWay(inLine, 7, 8, 9, 1), standing},
				{inTheWay(inLine, 7, 8, -1, 0), silent},
				{inTheWay(refused), proto.Answer{Conflict: second}},
			},
			[]any{
				inLine, inTheWay(inLine), inTheWay(inLine, 7), inTheWay(inLine, 7, 8), inTheWay(inLine, 7, 8, 9),
				inTheWay(inLine, "7", 8, 9, 1), inTheWay(inLine, 7, "8", 9, 1),
				inTheWay(inLine, 7, 8, "9", 1), inTheWay(inLine, 7, 8, 9, "1"),
				inTheWay(inLine, 7, 8, 9, 1, 1),
				array(inLine, 0, "write", 1, "", 1, 1, 1, 1),
			},
		},
		"refresh": {
			proto.Refresh{Set: two, Value: &value, TTL: time.Minute},
			verdict,
			[]replied{
				{done, proto.Verdict{Code: proto.Done}},
				overtook,
				{array(notYours, 2, 1), proto.Verdict{Code: proto.NotYours, Missing: []string{"b", "a"}}},
			},
			[]any{
				"OK", given, refused, notYours, inLine, array(done, 1), array(given, 1), array(overtaken, 1),
				array(notYours, 0), array(notYours, 3), array(notYours, "1"), array(notYours, 1, "2"), inTheWay(refused),
			},
		},
		"convert": {
			proto.Convert{Set: two, Value: &value, TTL: time.Minute},
			verdict,
			[]replied{
				{done, proto.Verdict{Code: proto.Done}},
				{inTheWay(refused), proto.Verdict{Conflict: second}},
				{array(notYours, 2), proto.Verdict{Code: proto.NotYours, Missing: []string{"b"}}},
			},
			[]any{refused, given, array(done, 1), array(refused, 2, "write"), inTheWay(refused, ""), inTheWay(notYours)},
		},
		"convert, fenced": {
			proto.Convert{Set: fenced, Value: &value, TTL: time.Minute},
			verdict,
			[]replied{
				{array(done, 4), proto.Verdict{Code: proto.Done, Number: 4}},
				{inTheWay(refused), proto.Verdict{Conflict: second}},
				overtook,
			},
			[]any{done, array(done, "1"), array(done, 1, 1), array(notYours, 3)},
		},
		"raise": {
			proto.Raise{Set: fenced, Value: &value, TTL: time.Minute, Number: 12},
			verdict,
			[]replied{{done, proto.Verdict{Code: proto.Done}}, {array(notYours, 1), proto.Verdict{Code: proto.NotYours, Missing: []string{"a"}}}},
			[]any{array(done, 1), refused},
		},
		"release": {
			&proto.Release{Set: two, Value: &value}, released,
			[]replied{{done, []string(nil)}, {array(notYours, 2), []string{"b"}}},
			[]any{proto.Withdrawn, refused, given, array(given, 1), array(notYours, 3)},
		},
		"release that gives": {
			gives(two), verdict,
			[]replied{{done, proto.Verdict{Code: proto.Done}}, {given, proto.Verdict{Code: proto.Given}}, overtook},
			[]any{array(given, 1), refused},
		},
		"release that gives, fenced": {
			gives(fenced), verdict,
			[]replied{{done, proto.Verdict{Code: proto.Done}}, {array(given, 4), proto.Verdict{Code: proto.Given, Number: 4}}},
			[]any{array(done, 4), array(given, "4")},
		},
		"ttl": {
			proto.TTL{Set: two, Value: &value},
			ttl,
			[]replied{
				{array(done, 5), left{5 * time.Millisecond, true}},
				{array(done, -1), left{without, true}},
				{array(notYours, 1), left{}},
			},
			[]any{
				done, notYours, "OK", nil, array(done, "5"), array(done, 0), array(done, -2), array(given, 5), array(refused, 5),
				array(notYours, "1"), array(done, 5, 5),
			},
		},
		"break": {
			proto.Break{Set: two, Value: &value, Channel: "channel", Text: "text"},
			broken,
			[]replied{
				{done, broke{}},
				{proto.Withdrawn, broke{}},
				{array(done), broke{}},
				{
					array(done, 2, "write", "who", 5, 0, token[:8], 1, "read", "else", -1, 1, ""),
					broke{Broken: []proto.Broken{
						{Key: "b", Mode: "write", Holder: proto.Holder{Stored: "who", TTL: 5 * time.Millisecond, Since: at}},
						{Key: "a", Mode: "read", Holder: proto.Holder{Stored: "else", TTL: without, Left: true}},
					}},
				},
				{array(refused, 1, "foreign", -1, "hash"), broke{Conflict: &foreign}},
			},
			[]any{
				"OK", nil, array(), refused, given, array(given), array(notYours, 1), array("1"), array(refused), array(refused, 3, "foreign", -1, "hash"),
				array(done, 1), array(done, 1, "write", "", 1, 0), array(done, 9, "write", "", 1, 0, ""),
				array(done, 1, 1, "", 1, 0, ""), array(done, 1, "write", 1, 1, 0, ""),
				array(done, 1, "write", "", "1", 0, ""), array(done, 1, "write", "", 1, "0", ""),
				array(done, 1, "write", "", 1, 0, 1),
			},
		},
		"inspect": {
			proto.Inspect{Key: "a", Line: "line:a", Intent: "intent:a", Fence: "fence:a"},
			state,
			[]replied{
				{array("free", -2, 0, -2, "", "", 0), proto.KeyState{Mode: proto.ModeFree}},
				{
					array("foreign", 5, 0, -2, "", "", 1, "hash", 5, 0, ""),
					proto.KeyState{Mode: proto.ModeForeign, TTL: 5 * time.Millisecond, Type: "hash"},
				},
				{
					array(
						"read", 5, 4, 3, "writer", token[:8],
						2, "one", 5, 1, token[:8], "two", -1, 0, "",
						"write", "third", 6, 1, "read", "fourth", 7, 0,
					),
					proto.KeyState{
						Mode: "read", TTL: 5 * time.Millisecond, Fence: 4,
						Intent:  &proto.Holder{Stored: "writer", TTL: 3 * time.Millisecond, Since: at},
						Holders: []proto.Holder{{Stored: "one", TTL: 5 * time.Millisecond, Left: true, Since: at}, {Stored: "two", TTL: without}},
						Line: []proto.Standing{
							{Mode: "write", Stored: "third", Since: time.UnixMicro(6), Alive: true}, {Mode: "read", Stored: "fourth", Since: time.UnixMicro(7)},
						},
					},
				},
			},
			[]any{
				"OK", nil, done, array(), array("free", -2, 0, -2, "", ""), array("free", -2, 0, -2, "", "", "0"),
				array("free", -2, "0", -2, "", "", 0), array("free", "-2", 0, -2, "", "", 0),
				array(1, -2, 0, -2, "", "", 0), array("free", -2, 0, "-2", "", "", 0),
				array("free", -2, 0, -2, 0, "", 0), array("free", -2, 0, -2, "", 0, 0),
				array("read", 5, 0, -2, "", "", 1<<60, "one", 5, 1, ""),
				array("read", 5, 0, -2, "", "", 0, "write", "third", 6),
				array("read", 5, 0, -2, "", "", 0, "write", 3, 6, 1),
			},
		},
		"again": {
			new(proto.Round), asks,
			[]replied{
				{array(9), asking{9, map[int]time.Duration{}}},
				{array(1), asking{1, map[int]time.Duration{}}},
				{array(9, 2, 3, 1, -1), asking{9, map[int]time.Duration{0: 0, 1: 3 * time.Millisecond}}},
			},
			[]any{
				"OK", nil, int64(9), array(), array("9"), array(0), array(-1), array(9, 1), array(9, 1, "1"),
				array(9, 0, 1), array(9, 3, 1), array(9, "1", 1),
			},
		},
	}
}

// Giving is a release that gives its keys to the next owner.
type giving struct {
	proto.Release
	next *proto.Next
}

func (g giving) Fill(r *proto.Run) {
	g.Release.Fill(r)
	r.Give(g.next)
}

// What a script replies is read; what none replies is an error, and no answer.
func TestReplies(t *testing.T) {
	t.Parallel()
	places := cmp.Comparer(func(a, b proto.Place) bool { return a == b })
	for name, c := range readings() {
		for _, one := range c.good {
			got, err := c.read(filled(c.request), one.reply)
			if diff := cmp.Diff(one.want, got, places); diff != "" || err != nil {
				t.Errorf("%s, %v: %v (-want +got):\n%s", name, one.reply, err, diff)
			}
		}
		for _, reply := range c.strange {
			r := filled(c.request)
			got, err := c.read(r, reply)
			if err == nil {
				t.Errorf("%s: %v is taken for a reply: %+v", name, reply, got)
			} else if says := r.Garbled(reply).Error(); err.Error() != says && name != "inspect" { // the caller says of what that is
				t.Errorf("%s: %v gives the error %q, want %q", name, reply, err, says)
			}
		}
	}
}

// An error about a reply says which script has sent it.
func TestGarbled(t *testing.T) {
	t.Parallel()
	if err := filled(proto.Inspect{}).Garbled("OK"); !strings.Contains(err.Error(), "inspect") || !strings.Contains(err.Error(), "unexpected reply") || !strings.HasSuffix(err.Error(), "string") {
		t.Error(err)
	}
}

// The way of a call looks at replies before they are read.
func TestKindsOfReplies(t *testing.T) {
	t.Parallel()
	var r proto.Run
	for _, c := range []struct {
		reply                                  any
		answer, overtaken, refused, more, open bool
	}{
		{reply: done, answer: true},
		{reply: overtaken, answer: true, overtaken: true},
		{reply: inTheWay(refused), answer: true, refused: true},
		{reply: array(refused), answer: true, refused: true},
		{reply: inTheWay(inLine), answer: true},
		{reply: array(done, "more"), answer: true, more: true},
		{reply: array(done, "open"), answer: true, open: true},
		{reply: array("more")},
		{reply: array("open")},
		{reply: array()},
		{reply: refused, answer: true},
		{reply: "more"},
		{reply: nil},
	} {
		_, more := proto.TakeMore(c.reply)
		_, open := proto.TakeOpen(c.reply)
		if proto.IsAnswer(c.reply) != c.answer || proto.IsOvertaken(c.reply) != c.overtaken || r.IsRefusal(c.reply) != c.refused ||
			more != c.more || open != c.open {
			t.Errorf("%v: answer %t, overtaken %t, refused %t, more %t, open %t", c.reply,
				proto.IsAnswer(c.reply), proto.IsOvertaken(c.reply), r.IsRefusal(c.reply), more, open)
		}
	}
	for _, c := range []replied{
		{array(done, "more"), done},
		{array(notYours, 1, "more"), array(notYours, 1)},
		{done, done},
		{array(done, "open"), array(done, "open")},
	} {
		if rest, _ := proto.TakeMore(c.reply); !cmp.Equal(rest, c.want) {
			t.Errorf("%v: %v is left, want %v", c.reply, rest, c.want)
		}
	}
}

// A release says whether it gave its keys away, and with which numbers.
func TestIsGiven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fenced, block bool
		reply         any
		want          proto.Numbers
		given         bool
	}{
		"given":                     {reply: given, given: true},
		"given, and messages":       {reply: array(given, "message"), given: true},
		"freed":                     {reply: done},
		"freed, and messages":       {reply: array(done, "message")},
		"nothing":                   {reply: array()},
		"no reply":                  {},
		"fenced":                    {fenced: true, reply: array(given, 30), want: proto.Numbers{First: 30, Last: 30}, given: true},
		"a block":                   {fenced: true, block: true, reply: array(given, 30), want: proto.Numbers{First: 30 - proto.Block, Last: 30}, given: true},
		"fenced, without a number":  {fenced: true, reply: array(given)},
		"fenced, with a word":       {fenced: true, reply: array(given, "30")},
		"fenced, with none":         {fenced: true, reply: array(given, 0)},
		"fenced, freed":             {fenced: true, reply: array(done, 30)},
		"a word in place of a code": {reply: array("2")},
	} {
		r := filled(giving{proto.Release{Set: setOf(1, c.fenced, "a"), Value: &value}, &proto.Next{Value: &value, TTL: time.Minute, Block: c.block}})
		its, is := r.IsGiven(c.reply)
		if is != c.given || is && its != c.want {
			t.Errorf("%s: %+v, %t", name, its, is)
		}
	}
}

// Keys that a release had to leave to others of its token are not missing.
func TestReleasedSparesOthers(t *testing.T) {
	t.Parallel()
	r := filled(&proto.Release{Set: setOf(3, false, "a", "b", "c"), Value: &value})
	r.Prepare(&owners.Stamp{Spared: []int{1}})
	missing, err := r.Released(array(notYours, 2, 3))
	if err != nil || !cmp.Equal(missing, []string{"c"}) || r.Spared() != 1 || !cmp.Equal(r.SparedKeys(), []string{"b"}) {
		t.Errorf("%q, %v; spared %d: %q", missing, err, r.Spared(), r.SparedKeys())
	}
}

// The error about a foreign fence names what stands there.
func TestForeignFence(t *testing.T) {
	t.Parallel()
	r := filled(&proto.Obtain{Set: setOf(2, true, "a", "b"), Value: &value, TTL: time.Minute})
	for said, want := range map[string]string{
		"FOREIGNFENCE 2 hash":            "hash",
		"FOREIGNFENCE 2 hash script: 07": "hash",
		"FOREIGNFENCE 2":                 "",
		"FOREIGNFENCE 1 set":             "set",
		"FOREIGNFENCE 0 hash":            "",
		"FOREIGNFENCE 3 hash":            "",
		"FOREIGNFENCE b hash":            "",
		"ERR 2 hash":                     "",
		"":                               "",
	} {
		name, kind, is := r.ForeignFence(said)
		if kind != want || is != (want != "") || is && name != slot.Beside("fence", map[string]string{"hash": "b", "set": "a"}[kind]) {
			t.Errorf("%q: %q, %q, %t", said, name, kind, is)
		}
	}
}
