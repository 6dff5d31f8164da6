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

// inTheWay is what a script says of the second key: it is written for 5 ms.
func inTheWay(code int64, more ...any) []any {
	return append([]any{code, int64(2), "write", int64(5), "who"}, more...)
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
				{[]any{refused, int64(1), "foreign", int64(-1), "hash"}, proto.Answer{Conflict: foreign}},
				{[]any{refused, int64(1), "read-left", int64(1000), "who"}, proto.Answer{Conflict: stored}},
			},
			[]any{
				"OK", nil, []any{}, []any{"1", int64(1)}, given, notYours, refused, inLine,
				[]any{done}, []any{done, int64(3)}, []any{overtaken}, []any{overtaken, int64(1)}, inTheWay(notYours), inTheWay(given),
				[]any{refused}, []any{refused, int64(2)}, []any{refused, int64(2), "write"}, []any{refused, int64(2), "write", int64(5)},
				[]any{refused, int64(0), "write", int64(5), "who"}, []any{refused, int64(3), "write", int64(5), "who"},
				[]any{refused, "2", "write", int64(5), "who"}, []any{refused, int64(2), int64(1), int64(5), "who"},
				[]any{refused, int64(2), "write", "5", "who"}, []any{refused, int64(2), "write", int64(5), int64(1)},
				inTheWay(refused, ""), inTheWay(inLine, int64(7), int64(8), int64(9), int64(1)),
			},
		},
		"fenced": {
			&proto.Obtain{Set: fenced, Value: &value, TTL: time.Minute}, answer,
			[]replied{
				{[]any{done, int64(30)}, proto.Answer{Code: proto.Done, Numbers: proto.Numbers{First: 30, Last: 30}}},
				late,
				{inTheWay(refused), proto.Answer{Conflict: second}},
			},
			[]any{done, []any{done, int64(0)}, []any{done, int64(-1)}, []any{done, "1"}, []any{done, int64(1), int64(1)}, inTheWay(refused, int64(2))},
		},
		"a block": {
			&proto.Obtain{Set: fenced, Value: &value, TTL: time.Minute, Block: true}, answer,
			[]replied{{[]any{done, int64(30)}, proto.Answer{Code: proto.Done, Numbers: proto.Numbers{First: 30 - proto.Block, Last: 30}}}},
			[]any{done, []any{done, int64(proto.Block)}},
		},
		"in line": {
			&proto.Obtain{Set: two, Value: &value, TTL: time.Minute, Waiter: waiter}, answer,
			[]replied{
				{done, proto.Answer{Code: proto.Done}},
				{inTheWay(inLine, int64(7), int64(8), int64(9), int64(1)), standing},
				{inTheWay(inLine, int64(7), int64(8), int64(-1), int64(0)), silent},
				{inTheWay(refused), proto.Answer{Conflict: second}},
			},
			[]any{
				inLine, inTheWay(inLine), inTheWay(inLine, int64(7)), inTheWay(inLine, int64(7), int64(8)), inTheWay(inLine, int64(7), int64(8), int64(9)),
				inTheWay(inLine, "7", int64(8), int64(9), int64(1)), inTheWay(inLine, int64(7), "8", int64(9), int64(1)),
				inTheWay(inLine, int64(7), int64(8), "9", int64(1)), inTheWay(inLine, int64(7), int64(8), int64(9), "1"),
				inTheWay(inLine, int64(7), int64(8), int64(9), int64(1), int64(1)),
				[]any{inLine, int64(0), "write", int64(1), "", int64(1), int64(1), int64(1), int64(1)},
			},
		},
		"refresh": {
			proto.Refresh{Set: two, Value: &value, TTL: time.Minute}, verdict,
			[]replied{
				{done, proto.Verdict{Code: proto.Done}},
				overtook,
				{[]any{notYours, int64(2), int64(1)}, proto.Verdict{Code: proto.NotYours, Missing: []string{"b", "a"}}},
			},
			[]any{
				"OK", given, refused, notYours, inLine, []any{done, int64(1)}, []any{given, int64(1)}, []any{overtaken, int64(1)},
				[]any{notYours, int64(0)}, []any{notYours, int64(3)}, []any{notYours, "1"}, []any{notYours, int64(1), "2"}, inTheWay(refused),
			},
		},
		"convert": {
			proto.Convert{Set: two, Value: &value, TTL: time.Minute}, verdict,
			[]replied{
				{done, proto.Verdict{Code: proto.Done}},
				{inTheWay(refused), proto.Verdict{Conflict: second}},
				{[]any{notYours, int64(2)}, proto.Verdict{Code: proto.NotYours, Missing: []string{"b"}}},
			},
			[]any{refused, given, []any{done, int64(1)}, []any{refused, int64(2), "write"}, inTheWay(refused, ""), inTheWay(notYours)},
		},
		"convert, fenced": {
			proto.Convert{Set: fenced, Value: &value, TTL: time.Minute}, verdict,
			[]replied{
				{[]any{done, int64(4)}, proto.Verdict{Code: proto.Done, Number: 4}},
				{inTheWay(refused), proto.Verdict{Conflict: second}},
				overtook,
			},
			[]any{done, []any{done, "1"}, []any{done, int64(1), int64(1)}, []any{notYours, int64(3)}},
		},
		"raise": {
			proto.Raise{Set: fenced, Value: &value, TTL: time.Minute, Number: 12}, verdict,
			[]replied{{done, proto.Verdict{Code: proto.Done}}, {[]any{notYours, int64(1)}, proto.Verdict{Code: proto.NotYours, Missing: []string{"a"}}}},
			[]any{[]any{done, int64(1)}, refused},
		},
		"release": {
			&proto.Release{Set: two, Value: &value}, released,
			[]replied{{done, []string(nil)}, {[]any{notYours, int64(2)}, []string{"b"}}},
			[]any{proto.Withdrawn, refused, given, []any{given, int64(1)}, []any{notYours, int64(3)}},
		},
		"release that gives": {
			gives(two), verdict,
			[]replied{{done, proto.Verdict{Code: proto.Done}}, {given, proto.Verdict{Code: proto.Given}}, overtook},
			[]any{[]any{given, int64(1)}, refused},
		},
		"release that gives, fenced": {
			gives(fenced), verdict,
			[]replied{{done, proto.Verdict{Code: proto.Done}}, {[]any{given, int64(4)}, proto.Verdict{Code: proto.Given, Number: 4}}},
			[]any{[]any{done, int64(4)}, []any{given, "4"}},
		},
		"ttl": {
			proto.TTL{Set: two, Value: &value}, ttl,
			[]replied{
				{[]any{done, int64(5)}, left{5 * time.Millisecond, true}},
				{[]any{done, int64(-1)}, left{without, true}},
				{[]any{notYours, int64(1)}, left{}},
			},
			[]any{
				done, notYours, "OK", nil, []any{done, "5"}, []any{done, int64(0)}, []any{done, int64(-2)}, []any{given, int64(5)}, []any{refused, int64(5)},
				[]any{notYours, "1"}, []any{done, int64(5), int64(5)},
			},
		},
		"break": {
			proto.Break{Set: two, Value: &value, Channel: "channel", Text: "text"}, broken,
			[]replied{
				{done, broke{}},
				{proto.Withdrawn, broke{}},
				{[]any{done}, broke{}},
				{
					[]any{done, int64(2), "write", "who", int64(5), int64(0), token[:8], int64(1), "read", "else", int64(-1), int64(1), ""},
					broke{Broken: []proto.Broken{
						{"b", "write", proto.Holder{Stored: "who", TTL: 5 * time.Millisecond, Since: at}},
						{"a", "read", proto.Holder{Stored: "else", TTL: without, Left: true}},
					}},
				},
				{[]any{refused, int64(1), "foreign", int64(-1), "hash"}, broke{Conflict: &foreign}},
			},
			[]any{
				"OK", nil, []any{}, refused, given, []any{given}, []any{notYours, int64(1)}, []any{"1"}, []any{refused}, []any{refused, int64(3), "foreign", int64(-1), "hash"},
				[]any{done, int64(1)}, []any{done, int64(1), "write", "", int64(1), int64(0)}, []any{done, int64(9), "write", "", int64(1), int64(0), ""},
				[]any{done, int64(1), int64(1), "", int64(1), int64(0), ""}, []any{done, int64(1), "write", int64(1), int64(1), int64(0), ""},
				[]any{done, int64(1), "write", "", "1", int64(0), ""}, []any{done, int64(1), "write", "", int64(1), "0", ""},
				[]any{done, int64(1), "write", "", int64(1), int64(0), int64(1)},
			},
		},
		"inspect": {
			proto.Inspect{Key: "a", Line: "line:a", Intent: "intent:a", Fence: "fence:a"}, state,
			[]replied{
				{[]any{"free", int64(-2), int64(0), int64(-2), "", "", int64(0)}, proto.KeyState{Mode: proto.ModeFree}},
				{
					[]any{"foreign", int64(5), int64(0), int64(-2), "", "", int64(1), "hash", int64(5), int64(0), ""},
					proto.KeyState{Mode: proto.ModeForeign, TTL: 5 * time.Millisecond, Type: "hash"},
				},
				{
					[]any{
						"read", int64(5), int64(4), int64(3), "writer", token[:8],
						int64(2), "one", int64(5), int64(1), token[:8], "two", int64(-1), int64(0), "",
						"write", "third", int64(6), int64(1), "read", "fourth", int64(7), int64(0),
					},
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
				"OK", nil, done, []any{}, []any{"free", int64(-2), int64(0), int64(-2), "", ""}, []any{"free", int64(-2), int64(0), int64(-2), "", "", "0"},
				[]any{"free", int64(-2), "0", int64(-2), "", "", int64(0)}, []any{"free", "-2", int64(0), int64(-2), "", "", int64(0)},
				[]any{int64(1), int64(-2), int64(0), int64(-2), "", "", int64(0)}, []any{"free", int64(-2), int64(0), "-2", "", "", int64(0)},
				[]any{"free", int64(-2), int64(0), int64(-2), int64(0), "", int64(0)}, []any{"free", int64(-2), int64(0), int64(-2), "", int64(0), int64(0)},
				[]any{"read", int64(5), int64(0), int64(-2), "", "", int64(1 << 60), "one", int64(5), int64(1), ""},
				[]any{"read", int64(5), int64(0), int64(-2), "", "", int64(0), "write", "third", int64(6)},
				[]any{"read", int64(5), int64(0), int64(-2), "", "", int64(0), "write", int64(3), int64(6), int64(1)},
			},
		},
		"again": {
			new(proto.Round), asks,
			[]replied{
				{[]any{int64(9)}, asking{9, map[int]time.Duration{}}},
				{[]any{int64(9), int64(2), int64(3), int64(1), int64(-1)}, asking{9, map[int]time.Duration{0: 0, 1: 3 * time.Millisecond}}},
			},
			[]any{
				"OK", nil, int64(9), []any{}, []any{"9"}, []any{int64(0)}, []any{int64(-1)}, []any{int64(9), int64(1)}, []any{int64(9), int64(1), "1"},
				[]any{int64(9), int64(0), int64(1)}, []any{int64(9), int64(3), int64(1)}, []any{int64(9), "1", int64(1)},
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
			if got, err := c.read(filled(c.request), reply); err == nil {
				t.Errorf("%s: %v is taken for a reply: %+v", name, reply, got)
			}
		}
	}
}

// An error about a reply says which script has sent it.
func TestGarbled(t *testing.T) {
	t.Parallel()
	if err := filled(proto.Inspect{}).Garbled("OK"); !strings.Contains(err.Error(), "inspect") || !strings.Contains(err.Error(), "string") {
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
		{reply: []any{refused}, answer: true, refused: true},
		{reply: inTheWay(inLine), answer: true},
		{reply: []any{done, "more"}, answer: true, more: true},
		{reply: []any{done, "open"}, answer: true, open: true},
		{reply: []any{"more"}},
		{reply: []any{"open"}},
		{reply: []any{}},
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
		{[]any{done, "more"}, done},
		{[]any{notYours, int64(1), "more"}, []any{notYours, int64(1)}},
		{done, done},
		{[]any{done, "open"}, []any{done, "open"}},
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
		"given, and messages":       {reply: []any{given, "message"}, given: true},
		"freed":                     {reply: done},
		"freed, and messages":       {reply: []any{done, "message"}},
		"nothing":                   {reply: []any{}},
		"no reply":                  {},
		"fenced":                    {fenced: true, reply: []any{given, int64(30)}, want: proto.Numbers{First: 30, Last: 30}, given: true},
		"a block":                   {fenced: true, block: true, reply: []any{given, int64(30)}, want: proto.Numbers{First: 30 - proto.Block, Last: 30}, given: true},
		"fenced, without a number":  {fenced: true, reply: []any{given}},
		"fenced, with a word":       {fenced: true, reply: []any{given, "30"}},
		"fenced, with none":         {fenced: true, reply: []any{given, int64(0)}},
		"fenced, freed":             {fenced: true, reply: []any{done, int64(30)}},
		"a word in place of a code": {reply: []any{"2"}},
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
	missing, err := r.Released([]any{notYours, int64(2), int64(3)})
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
		"FOREIGNFENCE 0 hash":            "",
		"FOREIGNFENCE 3 hash":            "",
		"FOREIGNFENCE b hash":            "",
		"ERR 2 hash":                     "",
		"":                               "",
	} {
		name, kind, is := r.ForeignFence(said)
		if kind != want || is != (want != "") || is != (name == slot.Beside("fence", "b")) {
			t.Errorf("%q: %q, %q, %t", said, name, kind, is)
		}
	}
}
