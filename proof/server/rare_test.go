package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A rare is one step that the dice throw hardly ever, with what there is before it: something ends in this moment, or is by one more or
// less than what a script tells apart, or a short cut meets something that is hardly ever there.
type rare struct {
	start    Space
	step     Step
	commands int   // that the script runs
	end      int64 // of the line of the key a behind it; 0: that does not matter
}

// In each of these cases the script does what the model does, and takes the way that was meant for it: it runs so many commands.
func TestRareSteps(t *testing.T) {
	t.Parallel()
	s := newScriptServer(t, redistest.Redis)
	for name, c := range rareSteps() {
		c.step.Micros = begin
		if err := s.plant(t.Context(), c.start); err != nil {
			t.Fatal(err)
		}
		seen := &met{}
		diff, after, err := c.step.compare(t.Context(), s, c.start, seen)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff != "" {
			t.Errorf("%s: the model (-) and the script (+):\n%s", name, diff)
		}
		if got := seen.commands[c.step.Script]; got != c.commands {
			t.Errorf("%s: the script has run %d commands, want %d", name, got, c.commands)
		}
		if its := after[spotOf("a").Line]; c.end != 0 && (its == nil || its.End != c.end) {
			t.Errorf("%s: the line is %v, want that it ends at %d", name, its, c.end)
		}
	}
}

const (
	beginMS = begin / 1000
	earlier = float64(begin - 9) // a place
	holder  = "t3|of t3"
)

var hears = map[string]int{"pp:one": 1}

// writtenFor is a key that somebody writes for so many ms more.
func writtenFor(v Value, ms int64) *Thing {
	return &Thing{Kind: String, Text: string(v), End: beginMS + ms}
}

// members are a sorted set that lasts for so many ms more.
func members(ms int64, all ...Member) *Thing {
	return &Thing{Kind: Sorted, Members: all, End: beginMS + ms}
}

// wanting is one that waits to write keys, and is heard.
func wanting(id string, fenced bool, keys ...string) Obtaining {
	o := Obtaining{Head: Head{Value: Value(id + "|of " + id), TTL: 60_000, Writes: len(keys), Can: decode.Letters{Fenced: fenced}}}
	for _, key := range keys {
		o.Set = append(o.Set, spotOf(key))
	}
	o.Line = &proto.Waiter{ID: id, Channel: "p:one"}
	return o
}

// entry is its entry in the line of its i-th key, alive for so many ms.
func (o Obtaining) entry(i int, ms int64, place float64) Member {
	return Member{o.EntryFor(i, beginMS+ms).String(), place}
}

// asks is what it runs from its place, or with its age.
func (o Obtaining) asks(place string) Step {
	var set []string
	for _, s := range o.Set {
		set = append(set, s.Key)
	}
	letters := ""
	if o.Can.Fenced {
		letters = "f"
	}
	_, entry, _ := strings.Cut(o.EntryFor(0, 0).String(), "|0|")
	args := head(o.Value, decimal(o.TTL), len(set), o.Writes, letters, "")
	args = append(args, o.Line.ID, place, strings.TrimSuffix(entry, string(o.Value)))
	return Step{Script: "rw", Keys: beside(slices.Clone(set), set, line), Args: args, Up: 5000, Heard: hears}
}

// releases is a release of keys by their holder, with the arguments behind the value.
func releases(set []string, args ...string) Step {
	keys := beside(slices.Clone(set), set, line)
	if len(args) > 1 && strings.Contains(args[1], "f") {
		keys = beside(keys, set, fence)
	}
	return Step{Script: "release", Keys: keys, Args: append([]string{holder}, args...), Heard: hears}
}

func rareSteps() map[string]rare {
	all := map[string]rare{}
	for _, more := range []map[string]rare{rareWaits(), rareUptimes(), rareReleases(), rareHandovers(), manyKeys()} {
		maps.Copy(all, more)
	}
	return all
}

// rareWaits are of those who have to wait.
func rareWaits() map[string]rare {
	a, first, next := spotOf("a"), wanting("w1", false, "a"), wanting("w2", false, "a")
	both, whole := wanting("w1", false, "a", "b"), beginMS+2*waiterLife
	stands := first.asks(decimal(int64(earlier)))
	entering := func(lease, line int64) Space {
		return Space{"a": writtenFor("other", lease), a.Line: members(line, first.entry(0, 14_000, earlier-5_000_000))}
	}
	standing := func(place float64, ms int64) Space {
		return Space{"a": writtenFor("other", 9000), a.Line: members(30_000, first.entry(0, ms, place))}
	}
	half := func(place float64) Space {
		return Space{"a": writtenFor("other", 9000), a.Line: members(30_000, both.entry(0, 14_900, place))}
	}
	return map[string]rare{
		"one polls for a key that ends now": {
			start: Space{"a": writtenFor("other", 0)},
			step:  Step{Script: "obtain", Keys: []string{"a", a.Line}, Args: []string{holder, "60000"}}, commands: 3,
		},
		"one enters the line of a key that ends now":       {start: entering(0, 29_500), step: next.asks("0"), commands: 6},
		"one enters a line that ends now":                  {start: entering(9000, 0), step: next.asks("0"), commands: 10},
		"one enters a line that ends right behind":         {start: entering(9000, 1), step: next.asks("0"), commands: 7, end: whole},
		"one enters a line that lasts for just too little": {start: entering(9000, 28_999), step: next.asks("0"), commands: 7, end: whole},
		"one enters a line that lasts for just long":       {start: entering(9000, 29_000), step: next.asks("0"), commands: 6, end: whole - 1000},
		"the first of all asks again":                      {start: standing(1, 14_900), step: first.asks("1"), commands: 9},
		"one asks again half a second behind":              {start: standing(earlier, 14_500), step: stands, commands: 9},
		"one asks again a little later":                    {start: standing(earlier, 14_499), step: stands, commands: 14},
		"one stands in one of its lines, as the first":     {start: half(1), step: both.asks("1"), commands: 21},
		"one stands in one of its lines, before all":       {start: half(-1), step: both.asks("?0"), commands: 24},
	}
}

// rareUptimes are of a server that has not been up for long enough.
func rareUptimes() map[string]rare {
	a := spotOf("a")
	polls := func(uptime string, intent ...string) Step {
		keys, life := []string{"a", a.Line}, ""
		if intent != nil {
			keys, life = append(keys, a.Intent), intent[0]
		}
		return Step{Script: "rw", Keys: keys, Args: []string{holder, "60000", "", "", "", life, "", uptime}, Up: 61}
	}
	return map[string]rare{
		"it has to be up for one ms more": {start: Space{}, step: polls("60001"), commands: 3},
		"it has been up for just as long": {start: Space{}, step: polls("60000"), commands: 4},
		"one that wants the key polls": {
			start: Space{a.Intent: writtenFor(holder, 5000)}, step: polls("90000", "300"), commands: 5,
		},
	}
}

// rareReleases are of keys that nobody gets.
func rareReleases() map[string]rare {
	a, one := spotOf("a"), []string{"a"}
	reader := func(v string, ms int64) Member { return Member{v, float64(beginMS + ms)} }
	left := members(70_000, reader("|of t3", 60_000), reader(holder, 65_000), reader("t4", 70_000))
	numbers := &Thing{Kind: Hash, Fields: map[string]string{Greatest: "7", "t3": "6", writes: "7|t3"}, End: beginMS + day}
	return map[string]rare{
		"one leaves a key": {start: Space{"a": writtenFor(holder, 9000)}, step: releases(one, "2500"), commands: 5},
		"one leaves a key that others are to get": {
			start: Space{"a": writtenFor(holder, 9000)}, step: releases(one, "2500", "", "", "", ">", "0", "60000", "n1|of n1"), commands: 5,
		},
		"one leaves a key to read that was left for longer": {
			start: Space{"a": left}, step: releases(one, "2500"), commands: 11,
		},
		"one quits from a place at which it does not stand": {
			start: Space{"a": writtenFor(holder, 9000), a.Line: members(30_000, wanting("w1", false, "a").entry(0, 12_000, earlier+3))},
			step:  releases(one, "", "", "", "", "w1", decimal(int64(earlier))), commands: 11,
		},
		"something else stands beside a key that is gone": {
			start: Space{a.Line: writtenFor("something else", 9000)}, step: releases(one, "", "", "", "p:two"), commands: 7,
		},
		"a candidate was elected": {
			start: Space{"a": writtenFor(holder+"?", 9000)}, commands: 6,
			step: Step{Script: "refresh", Keys: []string{"a", a.Line}, Args: []string{holder, "60000"}},
		},
		"one has read a key before it wrote it": {
			start: Space{"a": writtenFor(holder, 9000), a.Fence: numbers},
			step:  releases(one, "", "1|1|f"), commands: 4,
		},
	}
}

// rareHandovers are releases of keys that somebody waits for.
func rareHandovers() map[string]rare {
	a, b := spotOf("a"), spotOf("b")
	one, both := []string{"a"}, []string{"a", "b"}
	fenced, set := wanting("w1", true, "a"), wanting("w1", false, "a", "b")
	start := func(beside *Thing, entries ...Member) Space {
		space := Space{"a": writtenFor(holder, 9000), "b": writtenFor(holder, 9000), a.Line: members(30_000, entries[0])}
		if len(entries) > 1 {
			space[b.Line] = members(30_000, entries[1])
		}
		if beside != nil {
			space[a.Fence] = beside
		}
		return space
	}
	more := make([]Member, 2)
	for i := range more {
		e := set.EntryFor(i, beginMS+14_000)
		e.more = "x"
		more[i] = Member{e.String(), earlier}
	}
	guarded := start(nil, set.entry(0, 14_000, earlier), set.entry(1, 14_000, earlier))
	guarded[a.Line].Members = append(guarded[a.Line].Members, Member{"owner", Guard{7, float64(begin/1_000_000 + 20)}.Score()})
	hours := &Thing{Kind: Hash, Fields: map[string]string{Greatest: decimal(begin - 2*hour*1000), writes: "7|t3"}, End: beginMS + day}
	return map[string]rare{
		"to somebody who came before the first moment of the clock": {
			start: Space{"a": writtenFor(holder, 9000), "b": writtenFor(holder, 9000), b.Line: writtenFor("something else", 9000)},
			step:  releases(both, "", "2", "", "", ">", decimal(-begin-1), "60000", "n1|of n1"), commands: 13,
		},
		"a set was released already": {start: guarded, step: releases(both, "", "2", "owner|6|"), commands: 6},
		"to somebody who says more":  {start: start(nil, more...), step: releases(both, "", "2"), commands: 11},
		"no number is possible": {
			start: start(writtenFor("something else", 9000), fenced.entry(0, 14_000, earlier)), step: releases(one, "", "1|1|f"), commands: 14,
		},
		"with numbers of hours ago": {start: start(hours, fenced.entry(0, 14_000, earlier)), step: releases(one, "", "1|1|f"), commands: 14},
	}
}

// manyKeys are releases of more keys than one command is given.
func manyKeys() map[string]rare {
	of := func(n int, without ...int) rare {
		c := rare{start: Space{}}
		var set []string
		for i := range n {
			set = append(set, fmt.Sprintf("key%d", i+1))
			if !slices.Contains(without, i+1) {
				c.start[set[i]] = writtenFor(holder, 9000)
			}
		}
		c.step = releases(set, "", decimal(int64(n)))
		return c
	}
	some, lost, very := of(1001), of(1001, 1000), of(8100)
	some.commands, lost.commands, very.commands = 6, 9, 27
	return map[string]rare{"more keys than one command gets": some, "the last of those is lost": lost, "more keys than a function gets": very}
}
