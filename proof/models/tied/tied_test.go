package tied

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
)

var (
	one   = Wish{ID: "waiter-1", Token: "one", Writes: []string{"a"}, TTL: 2 * time.Second}
	two   = Wish{ID: "waiter-2", Token: "two", Writes: []string{"a"}, Reads: []string{"b"}, TTL: 3 * time.Second, Fenced: true}
	third = Wish{ID: "waiter-3", Token: "third", Reads: []string{"b"}, TTL: 2 * time.Second}
)

// full is a world with everything.
func full() World {
	w := World{
		Now: 5 * time.Second,
		Holds: []Hold{
			{"a", "x", Write, 7 * time.Second}, {"b", "", Read, 8 * time.Second}, {"b", "y", Read, 6 * time.Second},
		},
		Ends: []End{{"b", 9 * time.Second}},
		Waiters: []Waiter{
			{ID: "waiter-1", Place: time.Microsecond, Lines: []string{"a"}, Dead: true},
			{ID: "waiter-2", Place: 2 * time.Microsecond, Lines: []string{"a", "b"}},
		},
		Guards:  []Guard{{"a", "x", 3, 300 * time.Second}},
		Numbers: []Number{{"a", 17}},
		Intents: []Intent{{"b", "z", 6 * time.Second}},
	}
	w.settle()
	return w
}

// What is written is read back as it was.
func TestWorldIsReadBack(t *testing.T) {
	t.Parallel()
	all := castOf([]Wish{one, two, third})
	want := full()
	if diff := cmp.Diff(want, all.read(all.write(want), want.Now)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, word := range []string{"writes a", "reads b", "dead", "alive", "nothing of", "last number", "intends", "not with the last"} {
		if !strings.Contains(want.String(), word) {
			t.Errorf("the world in words has no %q:\n%s", word, want)
		}
	}
	want.Ends, want.Intents[0].Until, want.Waiters[0].Lines = []End{{"b", 8 * time.Second}}, want.Now, nil
	if want.settle(); len(want.Ends)+len(want.Intents) != 0 || len(want.Waiters) != 1 {
		t.Errorf("what has ended is left: %v", want)
	}
	if want.Rank(); want.Waiters[0].Place != time.Microsecond {
		t.Errorf("got place %v, want the first", want.Waiters[0].Place)
	}
}

// An entry that does not say what its waiter wants is none of the waiter.
func TestStrangeEntry(t *testing.T) {
	t.Parallel()
	w := World{Waiters: []Waiter{{ID: "waiter-1", Lines: []string{"a"}}}}
	longer := one
	longer.TTL *= 2
	if got := castOf([]Wish{longer}).read(castOf([]Wish{one}).write(w), 0); got.Waiters[0].ID == one.ID {
		t.Errorf("got %v", got)
	}
}

// A ran is a run, and what comes of it.
type ran struct {
	before World
	deaf   []string
	call   Call
	want   Outcome
}

var token, other = "one", "other"

// set and held are what most runs are about.
func set() proto.Set { return Set([]string{"a"}, nil, false) }

func held() World {
	return World{Now: time.Second, Holds: []Hold{{"a", token, Write, 3 * time.Second}}}
}

// ofWaiters are runs in which somebody stands in line.
func ofWaiters() map[string]ran {
	waited := held()
	waited.Waiters = []Waiter{{ID: "waiter-2", Place: 0, Lines: []string{"a", "b"}}}
	again := &proto.Round{}
	again.Add("waiter-2", PlaceAt(0), []string{"a", "b"}, Set(two.Writes, two.Reads, false).Lines)
	return map[string]ran{
		"a refused waiter stands in line": {
			before: held(), call: Call{Request: two.Obtain(proto.Place{})},
			want: Outcome{
				Reply: Reply{
					Code: proto.InLine, Place: time.Second, AskIn: 2 * time.Second, Heard: true,
					InTheWay: []proto.Conflict{{Key: "a", Mode: "write", TTL: 2 * time.Second}},
				},
				After: World{Now: time.Second, Holds: held().Holds, Waiters: []Waiter{{ID: "waiter-2", Place: time.Second, Lines: []string{"a", "b"}}}},
			},
		},
		"a release tells one whose set it does not have": {
			before: waited, call: Call{Request: &proto.Release{Set: set(), Value: &token}},
			want: Outcome{
				Reply: Reply{Code: proto.Done}, After: World{Now: time.Second, Waiters: waited.Waiters},
				Told: []Told{{ID: "waiter-2", News: Ask}},
			},
		},
		"nobody hears": {
			before: waited, deaf: []string{"waiter-2"}, call: Call{Request: &proto.Release{Set: set(), Value: &token}},
			want: Outcome{
				Reply: Reply{Code: proto.Done},
				After: World{Now: time.Second, Waiters: []Waiter{{ID: "waiter-2", Lines: []string{"b"}}}},
			},
		},
		"a round": {
			before: waited, call: Call{Request: again},
			want: Outcome{Reply: Reply{Asks: map[int]time.Duration{0: 2 * time.Second}}, After: waited},
		},
	}
}

// ofHolders are runs of those who hold keys, or want them.
func ofHolders() map[string]ran {
	stamp := owners.Stamp{
		Numbered: true, Name: owners.Name{Number: 2},
		Closes: []*owners.Sent{{Name: owners.Name{Number: 1}, Home: set().Lines[0]}},
	}
	return map[string]ran{
		"a free set with a number": {
			before: World{Now: time.Second}, call: Call{Request: two.Obtain(proto.Place{})},
			want: Outcome{
				Reply: Reply{Code: proto.Done, Number: 1_000_000},
				After: World{
					Now: time.Second, Holds: []Hold{{"a", "two", Write, 4 * time.Second}, {"b", "two", Read, 4 * time.Second}},
					Numbers: []Number{{"a", 1_000_000}, {"b", 1_000_000}},
				},
			},
		},
		"a release leaves a key": {
			before: held(), call: Call{Request: &proto.Release{Set: set(), Value: &token}, Left: 4 * time.Second},
			want: Outcome{Reply: Reply{Code: proto.Done}, After: World{Now: time.Second, Holds: []Hold{{"a", "", Write, 5 * time.Second}}}},
		},
		"a refresh of what somebody else holds, with a guard": {
			before: held(), call: Call{Request: proto.Refresh{Set: set(), Value: &other, TTL: time.Second}, Stamp: stamp},
			want: Outcome{
				Reply: Reply{Code: proto.NotYours, Missing: []string{"a"}},
				After: World{Now: time.Second, Holds: held().Holds, Guards: []Guard{{"a", "other", 2, 301 * time.Second}}},
			},
		},
		"a refresh that takes nothing away, because others count on the key": {
			before: held(), call: Call{Request: proto.Refresh{Set: set(), Value: &token, TTL: time.Second}, Stamp: owners.Stamp{Yields: true}},
			want: Outcome{Reply: Reply{Code: proto.Done}, After: held()},
		},
		"what is left of a lease": {
			before: held(), call: Call{Request: proto.TTL{Set: set(), Value: &token}},
			want: Outcome{Reply: Reply{Code: proto.Done, TTL: 2 * time.Second}, After: held()},
		},
		"a break": {
			before: held(), call: Call{Request: proto.Break{Set: Set([]string{"a"}, nil, true), Value: &other, Channel: listen.NoticeChannel, Text: "b|0|0|"}},
			want: Outcome{
				Reply: Reply{Code: proto.Done, Broken: []string{"a"}},
				After: World{Now: time.Second, Guards: []Guard{{"a", "other", owners.LastNumber, 301 * time.Second}}},
				Told:  []Told{{News: Broken}},
			},
		},
	}
}

// What comes of a run is read: each script has its own reply.
func TestRun(t *testing.T) {
	t.Parallel()
	all := ofWaiters()
	maps.Copy(all, ofHolders())
	for name, tt := range all {
		c := Case{Wishes: []Wish{one, two, third}, Before: tt.before, Deaf: tt.deaf, Call: tt.call, Want: tt.want}
		if diff := c.Difference(); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		c.Want.Told = append(c.Want.Told, Told{ID: "nobody", News: Ask})
		if diff := c.Difference(); !strings.Contains(diff, "nobody") || !strings.Contains(diff, "KEYS") {
			t.Errorf("%s: nothing is said of a message that nobody was sent:\n%s", name, diff)
		}
	}
}

// A server that has not been up for long enough refuses, and says what a script fails with.
func TestRunFails(t *testing.T) {
	t.Parallel()
	q := one.Obtain(proto.Place{})
	q.MinUptime = time.Minute
	c := Case{Wishes: []Wish{one}, Call: Call{Request: q}, Up: 10 * time.Second}
	if got := c.Run().Reply.InTheWay; len(got) != 1 || got[0].Mode != "restarted" {
		t.Errorf("got %v in the way", got)
	}
	said := Call{Request: q}.replyOf(serverSaid("strange"))
	if said.Err == "" {
		t.Error("a reply that makes no sense is no error")
	}
}
