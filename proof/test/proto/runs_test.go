package proto_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// A said is what a run says of itself, and what it sends when callers know its token.
type said struct{ is, keys, args string }

// says prepares a run, if it has a stamp, and returns what it says.
func says(t *testing.T, r *proto.Run, s *owners.Stamp) said {
	t.Helper()
	if s != nil {
		r.Prepare(s)
	}
	keys, args := wordsOf(r)
	if n, m := r.Size(); n != len(keys) || m != len(args) {
		t.Errorf("%s: it says %d keys and %d arguments, and sends %d and %d", r.Script().Name(), n, m, len(keys), len(args))
	}
	is := []string{[...]string{"lengthens", "takes", "lessens"}[r.Effect()]}
	if r.IsPlain() {
		is = append(is, "plain")
	}
	if r.Frees() {
		is = append(is, "frees")
	}
	if r.Takes() {
		is = append(is, "writes")
	}
	return said{strings.Join(is, ", "), strings.Join(keys, " "), strings.Join(args, " ")}
}

// What each request sends: see the heads of the scripts, lua/include/head.lua and lua/include/entry.lua.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	value := "token|metadata"
	one, fenced, reader := setOf(1, false, "a"), setOf(1, true, "a"), setOf(0, false, "a")
	all := requests()
	all["obtain, a block"] = &proto.Obtain{Set: fenced, Value: &value, TTL: time.Minute, Block: true}
	all["obtain, a reader"] = &proto.Obtain{Set: reader, Value: &value, TTL: time.Minute}
	all["obtain, a fresh reader"] = &proto.Obtain{Set: reader, Value: &value, TTL: time.Minute, Fresh: true}
	all["in line, uptime"] = &proto.Obtain{
		Set: one, Value: &value, TTL: time.Minute, MinUptime: time.Second, Waiter: &proto.Waiter{ID: "waiter", Channel: "channel"},
	}
	all["in line, one reader"] = &proto.Obtain{
		Set: reader, Value: &value, TTL: time.Minute, Waiter: &proto.Waiter{ID: "waiter", Channel: "channel", Age: time.Millisecond},
	}
	all["ttl"] = proto.TTL{Set: one, Value: &value}
	all["ttl, known"] = proto.TTL{Set: one, Value: &value, Known: true}
	all["inspect"] = proto.Inspect{Key: "a", Line: "line:a", Intent: "intent:a", Fence: "fence:a"}
	const a, ab, abc = "a line:a", "a b line:a line:b", "a b c line:a line:b line:c"
	const v = "token|metadata"
	for name, want := range map[string]said{
		"obtain":                 {"takes, plain, writes", a, v + " 60000"},
		"obtain, two":            {"takes, plain, writes", ab, v + " 60000 2"},
		"obtain, intents":        {"takes, writes", a + " intent:a", v + " 60000   1000"},
		"obtain, no intent":      {"takes, writes", a + " intent:a", v + " 60000   0"},
		"obtain, a block":        {"takes, writes", a + " fence:a", v + " 60000 1|1|bf"},
		"obtain, a reader":       {"takes, writes", a, v + " 60000 1|0|s"},
		"obtain, a fresh reader": {"takes, writes", a, v + " 60000 1|0|"},
		"mixed":                  {"takes, writes", abc + " intent:c", v + " 60000 3|2|s     1000"},
		"mixed, intents":         {"takes, writes", abc + " intent:c intent:a intent:b", v + " 60000 3|2|s   1000"},
		"fenced":                 {"takes, writes", ab + " fence:a fence:b intent:b", v + " 60000 2|1|fs"},
		"in line":                {"takes, plain, writes", a, v + " 60000   waiter 0 wp--|60000|1|7|0|channel"},
		"in line, again":         {"takes, writes", ab + " fence:a fence:b", v + " 60000 2|1|fs  waiter 5 wsfh|60000|2|7|11|channelw1:ar1:br0:"},
		"in line, perhaps":       {"takes, writes", abc, v + " 60000 3|2|s  waiter ?0 wp-h|60000|3|7|15|channelw1:aw1:br1:cr0:"},
		"in line, uptime":        {"takes, writes", a, v + " 60000   waiter 0 wp--|60000|1|7|0|channel 1000"},
		"in line, one reader":    {"takes, writes", a, v + " 60000 1|0|s  waiter -1000 rp--|60000|1|7|0|channel"},
		"release":                {"lessens, plain, frees", a, v},
		"release, told":          {"lessens, frees", abc, v + "  3  channel"},
		"release, fenced":        {"lessens, frees", ab + " fence:a fence:b", v + "  2|2|f"},
		"release, gone":          {"lessens, frees", abc, v + "  3   waiter 5"},
		"refresh":                {"lessens, writes", abc, v + " 60000 3|3|s"},
		"renew":                  {"lengthens, writes", "a b c", v + " 60000 3|3|ns"},
		"convert":                {"lessens, writes", abc, v + " 60000 3|2|ns"},
		"convert, fenced":        {"lessens, writes", ab + " fence:a fence:b", v + " 60000 2|1|fs"},
		"raise":                  {"lengthens, writes", ab + " fence:a fence:b", v + " 60000 2|2|fs  12"},
		"break":                  {"lessens", ab + " fence:a fence:b", v + "  2|2|f  channel b|…"},
		"ttl":                    {"lengthens", "a", v},
		"ttl, known":             {"lengthens", "a", v + "  1|1|s"},
		"inspect":                {"lengthens", "a line:a intent:a fence:a", ""},
	} {
		r, stamp := filled(all[name]), &owners.Stamp{Known: true}
		if _, is := all[name].(proto.TTL); is { // it says by itself whether callers know the token
			stamp = nil
		}
		if got := says(t, r, stamp); got != want || name != "inspect" && r.Home() != "line:a" {
			t.Errorf("%s, at home in %q:\n%q, want\n%q", name, r.Home(), got, want)
		}
		delete(all, name)
	}
	for name := range all {
		t.Errorf("%s is not in the table", name)
	}
}

// A stamp names the owner and the number of a try, and what it closes. The shortest way to say it is the one that is sent.
func TestStampsThatAreSent(t *testing.T) {
	t.Parallel()
	take := &proto.Obtain{Set: setOf(2, false, "a", "b"), Value: &value, TTL: time.Minute}
	renew := proto.Refresh{Set: setOf(1, false, "a"), Value: &value, TTL: time.Minute, NeverShortens: true}
	inspect := proto.TTL{Set: setOf(1, false, "a"), Value: &value}
	mine := owners.Name{Number: 7}
	earlier := []*owners.Sent{{Name: owners.Name{Number: 6}, Home: "line:b"}, {Name: owners.Name{Number: 5}, Home: "line:b"}}
	for name, c := range map[string]struct {
		request       proto.Request
		stamp         owners.Stamp
		keys, stamped string
		alone         bool // it cannot be a part of a bundle
	}{
		"not numbered":            {take, owners.Stamp{Name: mine}, "a b line:a line:b", "", false},
		"number 0":                {take, owners.Stamp{Numbered: true}, "a b line:a line:b", "", false},
		"numbered":                {take, owners.Stamp{Numbered: true, Name: mine}, "a b line:a line:b", "token|7|", false},
		"by its id":               {take, owners.Stamp{Numbered: true, Name: owners.Name{ID: "id", Number: 7}}, "a b line:a line:b", "id|7|", false},
		"closes in its lines":     {take, owners.Stamp{Numbered: true, Name: mine, Closes: earlier[:1]}, "a b line:a line:b", "token|7|token|7|4|", true},
		"closes at home":          {take, owners.Stamp{Numbered: true, Name: mine, Closes: []*owners.Sent{{Name: mine, Home: "line:a"}}}, "a b line:a line:b", "token|7|token|7|3|", true},
		"closes twice in one":     {take, owners.Stamp{Numbered: true, Name: mine, Closes: earlier}, "a b line:a line:b", "token|7|token|7|4|", true},
		"closes elsewhere":        {take, owners.Stamp{Numbered: true, Name: mine, Closes: []*owners.Sent{{Name: mine, Home: "line:c"}}}, "a b line:a line:b line:c", "token|7|token|7|5|", true},
		"closes with number 0":    {take, owners.Stamp{Numbered: true, Closes: earlier[:1]}, "a b line:a line:b", "token|0|token|0|4|", true},
		"lengthens":               {renew, owners.Stamp{Numbered: true}, "a", "", false},
		"lengthens, numbered":     {renew, owners.Stamp{Numbered: true, Name: mine}, "a line:a", "token|7|", false},
		"lengthens, closes home":  {renew, owners.Stamp{Numbered: true, Name: mine, Closes: []*owners.Sent{{Name: mine, Home: "line:a"}}}, "a line:a", "token|7|token|7|2|", true},
		"lengthens, closes apart": {renew, owners.Stamp{Numbered: true, Name: mine, Closes: earlier}, "a line:a line:b", "token|7|token|7|3|", true},
		"asks":                    {inspect, owners.Stamp{Numbered: true}, "a", "", false},
	} {
		r := filled(c.request)
		for range 2 { // each try says it anew
			if r.Prepare(&c.stamp) == c.alone {
				t.Errorf("%s: a part of a bundle: %t", name, c.alone)
			}
			keys, args := wordsOf(r)
			stamped := ""
			if len(args) > 3 {
				stamped = args[3]
			}
			if c.alone != (len(args) > 2 && strings.Contains(args[2], "c")) {
				t.Errorf("%s: the script is told to close: %q", name, args)
			}
			if strings.Join(keys, " ") != c.keys || stamped != c.stamped {
				t.Errorf("%s: %q, stamped %q; want %q, %q", name, keys, stamped, c.keys, c.stamped)
			}
		}
		r.Prepare(new(owners.Stamp))
		if _, args := wordsOf(r); len(args) > 3 {
			t.Errorf("%s: the stamp of an earlier try is sent: %q", name, args)
		}
	}
}

// A release names the keys that it must not free behind all that it says; a bundle has no place for them.
func TestSparedKeysAreSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request *proto.Release
		args    string
	}{
		"frees":       {&proto.Release{Set: setOf(3, false, "a", "b", "c"), Value: &value}, value + "  3     1 3"},
		"one key":     {&proto.Release{Set: setOf(1, false, "a"), Value: &value}, value + "       1"},
		"is told":     {&proto.Release{Set: setOf(1, false, "a"), Value: &value, Channel: "channel"}, value + "    channel   1"},
		"quits, lost": {&proto.Release{Set: setOf(1, false, "a"), Value: &value, Waiter: "id", Place: proto.Place{}.OrUnknown()}, value + "     id ? 1"},
	} {
		r, spared := filled(c.request), []int{0, 2}
		if len(r.Keys()) == 1 {
			spared = spared[:1]
		}
		if r.Prepare(&owners.Stamp{Spared: spared}) {
			t.Errorf("%s: it is a part of a bundle", name)
		}
		keys, args := wordsOf(r)
		if n, m := r.Size(); n != len(keys) || m != len(args) || strings.Join(args, " ") != c.args {
			t.Errorf("%s: %q, want %q; %d keys, %d arguments", name, strings.Join(args, " "), c.args, n, m)
		}
	}
}

// A release gives its keys to one, to another one, or to nobody; each try says it anew.
func TestGive(t *testing.T) {
	t.Parallel()
	next := &proto.Next{Value: &value, TTL: time.Minute, Age: 3 * time.Microsecond}
	block := &proto.Next{Value: &value, TTL: time.Second, Block: true}
	for name, q := range map[string]*proto.Release{
		"":        {Set: setOf(1, false, "a"), Value: &value},
		"channel": {Set: setOf(1, false, "a"), Value: &value, Channel: "channel"},
	} {
		r := filled(q)
		before := says(t, r, new(owners.Stamp)).args
		for _, c := range []struct {
			next *proto.Next
			args string
		}{
			{next, value + "    " + name + " > -3 60000 " + value},
			{block, value + "    " + name + " >b 0 1000 " + value},
			{nil, before},
			{nil, before},
			{next, value + "    " + name + " > -3 60000 " + value},
		} {
			r.Give(c.next)
			if got := says(t, r, new(owners.Stamp)).args; got != c.args {
				t.Errorf("%q: %q, want %q", name, got, c.args)
			}
		}
	}
}

// What was sent and not answered may have done its work. The next try says so: its waiter may stand in line, has waited for longer,
// and a lease that was to go on until some moment has less time left.
func TestResent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &proto.Waiter{ID: "waiter", Channel: "channel"}
		waits := filled(&proto.Obtain{Set: setOf(1, false, "a"), Value: &value, TTL: time.Minute, Waiter: w})
		stands := filled(&proto.Obtain{
			Set: setOf(1, false, "a"), Value: &value, TTL: time.Minute, Waiter: &proto.Waiter{ID: "waiter", Channel: "channel", Place: proto.PlaceOf(5)},
		})
		leaves := filled(&proto.Release{Set: setOf(1, false, "a"), Value: &value, Keep: clock.Now().Add(time.Minute)})
		plain := filled(&proto.Release{Set: setOf(1, false, "a"), Value: &value})
		at := func(r *proto.Run) string { return decode.Words(r.Append(nil))[1+2+5] }
		left := func(r *proto.Run) string { return says(t, r, new(owners.Stamp)).args }
		if at(waits) != "0" || at(stands) != "5" || left(leaves) != value+" 60000" {
			t.Errorf("%q, %q, %q", at(waits), at(stands), left(leaves))
		}
		time.Sleep(time.Second)
		w.Age = time.Second
		for _, r := range []*proto.Run{waits, stands, leaves, plain} {
			r.Resent()
		}
		if at(waits) != "?-1000000" || at(stands) != "5" || left(leaves) != value+" 59000" || left(plain) != value {
			t.Errorf("%q, %q, %q, %q", at(waits), at(stands), left(leaves), left(plain))
		}
		time.Sleep(time.Hour) // it is over: the keys are freed
		if leaves.Resent(); left(leaves) != value+" " {
			t.Errorf("%q", left(leaves))
		}
	})
}

// A request that is late may meet what other locks of its token have obtained since. It undoes nothing of that, or is not sent.
func TestYield(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request proto.Request
		sent    bool
		keys    string
		letters decode.Letters
	}{
		"writers":        {&proto.Obtain{Set: setOf(2, false, "a", "b"), Value: &value, TTL: time.Minute}, true, "a b line:a line:b", decode.Letters{}},
		"writers by rw":  {&proto.Obtain{Set: setOf(2, true, "a", "b"), Value: &value, TTL: time.Minute}, true, "a b line:a line:b fence:a fence:b", decode.Letters{Fenced: true}},
		"a reader":       {&proto.Obtain{Set: setOf(1, false, "a", "b"), Value: &value, TTL: time.Minute}, true, "a b line:a line:b intent:b", decode.Letters{Keep: true}},
		"refresh":        {proto.Refresh{Set: setOf(2, false, "a", "b"), Value: &value, TTL: time.Minute}, true, "a b", decode.Letters{Long: true}},
		"convert":        {proto.Convert{Set: setOf(2, false, "a", "b"), Value: &value, TTL: time.Minute}, true, "a b line:a line:b", decode.Letters{Long: true}},
		"convert a read": {proto.Convert{Set: setOf(1, false, "a", "b"), Value: &value, TTL: time.Minute}, false, "a b line:a line:b", decode.Letters{Long: true}},
		"raise":          {proto.Raise{Set: setOf(1, true, "a"), Value: &value, TTL: time.Minute, Number: 1}, true, "a line:a fence:a", decode.Letters{Fenced: true}},
		"release":        {&proto.Release{Set: setOf(2, false, "a", "b"), Value: &value}, true, "a b line:a line:b", decode.Letters{}},
	} {
		if q, is := c.request.(*proto.Obtain); is {
			if q.Set.Writes < len(q.Set.Keys) {
				q.Intents = namesBeside("intent", q.Set.Keys[q.Set.Writes:]...)
			}
		}
		r := filled(c.request)
		if sent := r.Yield(); sent != c.sent {
			t.Errorf("%s: it is sent: %t", name, sent)
		}
		r.Prepare(new(owners.Stamp))
		got := sent(t, r)
		if strings.Join(got.Keys, " ") != c.keys || got.Can != c.letters {
			t.Errorf("%s: %q, %+v", name, got.Keys, got.Can)
		}
	}
}

// A release that met too many dead waiters is followed by releases of what nobody holds, with the same keys and lines.
func TestGoOn(t *testing.T) {
	t.Parallel()
	r, next := filled(&proto.Release{Set: setOf(2, true, "a", "b"), Value: &value, Channel: "channel"}), new(proto.Run)
	r.GoOn(next)
	c := sent(t, next)
	if !cmp.Equal(c.Set.Keys, []string{"a", "b"}) || !cmp.Equal(c.Set.Lines, []string{"line:a", "line:b"}) || len(c.Guards) > 0 || c.Value == "" || c.Value == value || c.HasCaller || c.Left != 0 || next.Takes() {
		t.Errorf("%+v", c)
	}
}

// Plain is the short way to what Fill makes.
func TestPlain(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 99, 100, 101} {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = strings.Repeat("k", i+1)
		}
		set := setOf(n, false, keys...)
		for _, ttl := range []time.Duration{time.Minute, 0} {
			var q proto.Request = &proto.Release{Set: set, Value: &value}
			if ttl > 0 {
				q = &proto.Obtain{Set: set, Value: &value, TTL: ttl}
			}
			var short proto.Run
			short.Plain(set.Keys, set.Lines, &value, ttl)
			unstamped := filled(q)
			unstamped.Unstamped()
			if !unstamped.IsLike(&short) || short.Home() != unstamped.Home() || short.Script() != unstamped.Script() {
				t.Errorf("%d keys, %s: the short way sends something else", n, ttl)
			}
			if a, b := says(t, &short, new(owners.Stamp)), says(t, filled(q), new(owners.Stamp)); a != b {
				t.Errorf("%d keys, %s: the short way is %q, the long one %q", n, ttl, a, b)
			}
		}
	}
}

// Places are ordered by their numbers. A waiter that may have entered its lines keeps the place that it knows.
func TestPlaces(t *testing.T) {
	t.Parallel()
	var none proto.Place
	one, two := proto.PlaceOf(1), proto.PlaceOf(2)
	lost := none.OrUnknown()
	if one.Compare(two) >= 0 || two.Compare(one) <= 0 || one.Compare(one) != 0 || two.Number() != 2 {
		t.Error("places are ordered in another way")
	}
	if none.IsPossible() || none.IsKnown() || !lost.IsPossible() || lost.IsKnown() || !one.IsPossible() || !one.IsKnown() {
		t.Error("it stands where it does not, or does not where it does")
	}
	if one.OrUnknown() != one || lost.OrUnknown() != lost {
		t.Error("a place is forgotten")
	}
}

// What a request costs before it is sent. To name the shape of a set of writers costs nothing.
func TestAllocationsOfRuns(t *testing.T) {
	var r proto.Run
	var stamp owners.Stamp
	long := strings.Repeat("k", 200)
	set, known := setOf(2, false, "a", "b"), owners.Stamp{Known: true}
	for name, c := range map[string]struct {
		request proto.Request
		stamp   *owners.Stamp
		want    float64
	}{
		"obtain":  {&proto.Obtain{Set: set, Value: &value, TTL: time.Minute}, &stamp, 0},
		"release": {&proto.Release{Set: set, Value: &value}, &stamp, 0},
		"convert": {&proto.Convert{Set: set, Value: &value, TTL: time.Minute}, &stamp, 0},
		"waiter": {&proto.Obtain{
			Set: setOf(3, false, long, long+"2", long+"3"), Value: &value, TTL: time.Minute, Waiter: &proto.Waiter{ID: "id", Channel: "channel"},
		}, &known, 7},
	} {
		if got := testing.AllocsPerRun(100, func() {
			c.request.Fill(&r)
			r.Prepare(c.stamp)
		}); got != c.want {
			t.Errorf("%s: %v allocations, want %v", name, got, c.want)
		}
	}
}

// Numbers are written with ten digits, and what is as short as can be is not taken for nothing.
func TestNumbersThatAreSent(t *testing.T) {
	t.Parallel()
	var keys []string
	for len(keys) < 101 {
		keys = append(keys, strings.Repeat("k", 125)+strings.Repeat("l", len(keys)))
	}
	ms := time.Millisecond
	for name, c := range map[string]struct {
		request proto.Request
		args    []string // some of them, from the second on
	}{
		"101 keys":     {&proto.Obtain{Set: setOf(101, false, keys...), Value: &value, TTL: ms}, []string{"1", "101"}},
		"21 of 23":     {&proto.Obtain{Set: setOf(21, false, keys[:23]...), Value: &value, TTL: 1234 * ms, MinUptime: ms}, []string{"1234", "23|21|", "", "", "", "", "1"}},
		"place":        {&proto.Release{Set: setOf(1, false, "a"), Value: &value, Waiter: "id", Place: proto.PlaceOf(123)}, []string{"", "", "", "", "id", "123"}},
		"name of keys": {&proto.Obtain{Set: setOf(1, false, keys[0], keys[1]), Value: &value, TTL: ms, Waiter: &proto.Waiter{ID: "id", Channel: "c"}}, []string{"1", "2|1|", "", "id", "0", "wp-h|1|2|1|261|cw125:" + keys[0] + "r126:" + keys[1]}},
	} {
		r := filled(c.request)
		r.Prepare(new(owners.Stamp))
		_, args := wordsOf(r)
		if !cmp.Equal(args[1:], c.args) || r.Takes() != (name != "place") {
			t.Errorf("%s: %q, want %q", name, args[1:], c.args)
		}
	}
}
