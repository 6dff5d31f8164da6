package proto_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
	"github.com/seed-14de3678/redislock/internal/wire"
)

var value = "token|metadata"

// namesBeside names what stands beside keys.
func namesBeside(what string, keys ...string) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = what + ":" + key
	}
	return names
}

// setOf makes a set; the first writes of its keys are to be written.
func setOf(writes int, fenced bool, keys ...string) proto.Set {
	s := proto.Set{Keys: keys, Writes: writes, Lines: namesBeside("line", keys...)}
	if fenced {
		s.Fences = namesBeside("fence", keys...)
	}
	return s
}

// stamps are what owners have to say of a try.
var stamps = map[string]owners.Stamp{
	"none":   {},
	"known":  {Known: true},
	"number": {Numbered: true, Known: true, Name: owners.Name{Number: 7}},
	"closes": {Numbered: true, Name: owners.Name{ID: "id", Number: 7}, Closes: []*owners.Sent{
		{Name: owners.Name{ID: "id", Number: 6}, Home: "line:a"}, {Name: owners.Name{ID: "other"}, Home: "line:elsewhere"},
	}},
}

// wordsOf is what a run would send, from its keys on.
func wordsOf(r *proto.Run) (keys, args []string) {
	n, _ := r.Size()
	words := decode.Words(r.Append(nil)[1:])
	return words[:n], words[n:]
}

// sent decodes what a run would send.
func sent(t *testing.T, r *proto.Run) decode.Call {
	t.Helper()
	keys, args := wordsOf(r)
	c, err := decode.Decode(r.Script().Name(), keys, args)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// requests are some of each kind, and where the decoder has them.
func requests() map[string]proto.Request {
	one, mixed, fenced := setOf(1, false, "a"), setOf(2, false, "a", "b", "c"), setOf(1, true, "a", "b")
	waiter := &proto.Waiter{ID: "waiter", Channel: "channel"}
	placed := &proto.Waiter{ID: "waiter", Channel: "channel", Sharded: true, Place: proto.PlaceOf(5)}
	lost := &proto.Waiter{ID: "waiter", Channel: "channel", Place: proto.Place{}.OrUnknown()}
	return map[string]proto.Request{
		"obtain":            &proto.Obtain{Set: one, Value: &value, TTL: time.Minute},
		"obtain, two":       &proto.Obtain{Set: setOf(2, false, "a", "b"), Value: &value, TTL: time.Minute},
		"obtain, intents":   &proto.Obtain{Set: one, Value: &value, TTL: time.Minute, Declares: true, Intent: time.Second, Intents: namesBeside("intent", "a")},
		"obtain, no intent": &proto.Obtain{Set: one, Value: &value, TTL: time.Minute, Declares: true, Intents: namesBeside("intent", "a")},
		"mixed":             &proto.Obtain{Set: mixed, Value: &value, TTL: time.Minute, Intents: namesBeside("intent", "c"), MinUptime: time.Second},
		"mixed, intents": &proto.Obtain{
			Set: mixed, Value: &value, TTL: time.Minute, Declares: true, Intent: time.Second, Intents: namesBeside("intent", "c", "a", "b"),
		},
		"fenced":           &proto.Obtain{Set: fenced, Value: &value, TTL: time.Minute, Intents: namesBeside("intent", "b")},
		"in line":          &proto.Obtain{Set: one, Value: &value, TTL: time.Minute, Waiter: waiter},
		"in line, again":   &proto.Obtain{Set: fenced, Value: &value, TTL: time.Minute, Waiter: placed},
		"in line, perhaps": &proto.Obtain{Set: mixed, Value: &value, TTL: time.Minute, Waiter: lost},
		"release":          &proto.Release{Set: one, Value: &value},
		"release, told":    &proto.Release{Set: mixed, Value: &value, Channel: "channel"},
		"release, fenced":  &proto.Release{Set: fenced, Value: &value},
		"release, gone":    &proto.Release{Set: mixed, Value: &value, Waiter: "waiter", Place: proto.PlaceOf(5)},
		"refresh":          proto.Refresh{Set: mixed, Value: &value, TTL: time.Minute},
		"renew":            proto.Refresh{Set: mixed, Value: &value, TTL: time.Minute, NeverShortens: true},
		"convert":          proto.Convert{Set: mixed, Value: &value, TTL: time.Minute, Keeps: true},
		"convert, fenced":  proto.Convert{Set: fenced, Value: &value, TTL: time.Minute},
		"raise":            proto.Raise{Set: fenced, Value: &value, TTL: time.Minute, Number: 12},
		"break":            proto.Break{Set: fenced, Value: &value, Channel: "channel", Text: "b|…"},
	}
}

// request is what a call asks for. It has the lines of its keys, also where they are not sent.
func request(c *decode.Call) proto.Request {
	lines := namesBeside("line", c.Set.Keys...)
	switch {
	case c.Obtain != nil:
		return c.Obtain
	case c.Release != nil:
		return c.Release
	case c.Refresh != nil:
		c.Refresh.Set.Lines = lines
		return *c.Refresh
	case c.Convert != nil:
		return *c.Convert
	case c.Raise != nil:
		c.Raise.Set.Lines = lines
		return *c.Raise
	case c.Break != nil:
		return *c.Break
	}
	return nil
}

// What is decoded is what was asked for, under each stamp; made a run again it is sent in the same words.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, q := range requests() {
		for kind, stamp := range stamps {
			var first, second proto.Run
			q.Fill(&first)
			first.Prepare(&stamp)
			c := sent(t, &first)
			got := request(&c)
			got.Fill(&second)
			second.Prepare(&stamp)
			keys, args := wordsOf(&first)
			againKeys, againArgs := wordsOf(&second)
			if diff := cmp.Diff(append(keys, args...), append(againKeys, againArgs...)); diff != "" {
				t.Errorf("%s, %s: sent, and decoded and sent again (-first +second):\n%s", name, kind, diff)
			}
			ignored := []cmp.Option{ // these are not told which keys are written
				cmpopts.IgnoreFields(proto.Release{}, "Looks", "Set.Writes"), cmpopts.IgnoreFields(proto.Refresh{}, "Set.Writes"),
				cmpopts.IgnoreFields(proto.Raise{}, "Set.Writes"), cmpopts.IgnoreFields(proto.Break{}, "Set.Writes"),
				cmp.Comparer(func(a, b proto.Place) bool { return a == b }), cmpopts.EquateEmpty(),
			}
			if diff := cmp.Diff(q, got, ignored...); diff != "" {
				t.Errorf("%s, %s: (-want +got):\n%s", name, kind, diff)
			}
			if q, is := q.(*proto.Release); is && c.HasCaller != (q.Channel+q.Waiter != "") {
				t.Errorf("%s, %s: the channel of the caller is there: %t", name, kind, c.HasCaller)
			}
			if kind == "closes" {
				want := []decode.Closing{{Owner: "id", Number: 7, Line: "line:a"}, {Owner: "other", Number: owners.LastNumber, Line: "line:elsewhere"}}
				if diff := cmp.Diff(want, c.Stamp.Closes); diff != "" || !c.Can.Close || c.Stamp.Home != "line:a" {
					t.Errorf("%s: letters %+v, home %q, guards (-want +got):\n%s", name, c.Can, c.Stamp.Home, diff)
				}
			}
		}
	}
}

// What has no stamp is decoded, too.
func TestRoundTripWithoutStamp(t *testing.T) {
	t.Parallel()
	var ttl, inspect, again, kept proto.Run
	set := setOf(0, false, "a", "b")
	proto.TTL{Set: set, Value: &value, Known: true}.Fill(&ttl)
	if c := sent(t, &ttl); c.Value != value || !c.Held.Known || !cmp.Equal(c.Set.Keys, set.Keys) {
		t.Errorf("got %+v", c)
	}
	proto.Inspect{Key: "a", Line: "line:a", Intent: "intent:a", Fence: "fence:a"}.Fill(&inspect)
	if c := sent(t, &inspect); *c.Inspect != (proto.Inspect{Key: "a", Line: "line:a", Intent: "intent:a", Fence: "fence:a"}) {
		t.Errorf("got %+v", c)
	}
	var q proto.Round
	q.Add("one", proto.PlaceOf(3), []string{"a", "b"}, namesBeside("line", "a", "b"))
	q.Add("two", proto.PlaceOf(4), []string{"b"}, namesBeside("line", "b"))
	q.Fill(&again)
	want := []decode.Waiter{{ID: "one", Place: proto.PlaceOf(3), Keys: []int{0, 1}}, {ID: "two", Place: proto.PlaceOf(4), Keys: []int{1}}}
	if c := sent(t, &again); !cmp.Equal(c.Round, want, cmp.Comparer(func(a, b proto.Place) bool { return a == b })) || q.Size() != 3 ||
		!cmp.Equal(c.Set.Keys, []string{"a", "b"}) {
		t.Errorf("got %+v of %q", c.Round, c.Set.Keys)
	}
	(&proto.Release{Set: set, Value: &value, Keep: clock.Now().Add(time.Hour)}).Fill(&kept)
	kept.Prepare(&owners.Stamp{Spared: []int{1}})
	if c := sent(t, &kept); c.Left < 59*time.Minute || c.Left > time.Hour || !cmp.Equal(c.Spared, []int{1}) {
		t.Errorf("got %s and %+v", c.Left, c.Spared)
	}
}

// A bundle has the set of each call.
func TestBundle(t *testing.T) {
	t.Parallel()
	var take, free proto.Run
	(&proto.Obtain{Set: setOf(2, false, "a", "b"), Value: &value, TTL: time.Millisecond}).Fill(&take)
	(&proto.Release{Set: setOf(1, false, "c"), Value: &value}).Fill(&free)
	bundle := proto.Bundle()
	args := bundle.Append([]any{"evalsha", bundle.Script.SHA()}, []*wire.Call{
		{Wish: wire.Wish{Run: &take}}, {Wish: wire.Wish{Run: &free}},
	})
	words := decode.Words(args)
	c, is := decode.Command(words...)
	want := []decode.Plain{{Set: setOf(2, false, "a", "b"), Value: value, TTL: time.Millisecond}, {Set: setOf(1, false, "c"), Value: value}}
	if diff := cmp.Diff(want, c.Batch); diff != "" || !is {
		t.Errorf("%t (-want +got):\n%s", is, diff)
	}
}

// Whatever is sent, the decoder says of it what it is, or that it is no call.
func FuzzDecode(f *testing.F) {
	for _, q := range requests() {
		var r proto.Run
		q.Fill(&r)
		r.Prepare(&owners.Stamp{})
		keys, args := wordsOf(&r)
		f.Add(r.Script().Name(), strings.Join(keys, " "), strings.Join(args, " "))
	}
	f.Fuzz(func(t *testing.T, script, keys, args string) {
		if c, err := decode.Decode(script, strings.Split(keys, " "), strings.Split(args, " ")); err == nil && c.Script != script {
			t.Errorf("got %q, want %q", c.Script, script)
		}
	})
}

// Runs that differ in their value alone are alike. Of those with a stamp each has its own.
func TestRunsAreAlike(t *testing.T) {
	t.Parallel()
	another := "other"
	obtain := func(change func(*proto.Obtain), kind string) *proto.Run {
		q := proto.Obtain{Set: setOf(1, false, "a"), Value: &another, TTL: time.Minute}
		if change != nil {
			change(&q)
		}
		r, stamp := new(proto.Run), stamps[kind]
		q.Fill(r)
		r.Prepare(&stamp)
		return r
	}
	first := obtain(func(q *proto.Obtain) { q.Value = &value }, "none")
	for name, c := range map[string]struct {
		run  *proto.Run
		want bool
	}{
		"of another":       {obtain(nil, "none"), true},
		"longer":           {obtain(func(q *proto.Obtain) { q.TTL = time.Hour }, "none"), false},
		"of another set":   {obtain(func(q *proto.Obtain) { q.Set = setOf(1, false, "b") }, "none"), false},
		"with other lines": {obtain(func(q *proto.Obtain) { q.Set.Lines = []string{"another"} }, "none"), false},
		"with an intent":   {obtain(func(q *proto.Obtain) { q.Declares, q.Intent = true, time.Second }, "none"), false},
		"with its number":  {obtain(nil, "closes"), false},
	} {
		if got := first.IsLike(c.run); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
