package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// lines returns results of every way, so that what is added to them is the only thing amiss.
func lines(more ...string) string {
	var text strings.Builder
	for _, by := range ways {
		fmt.Fprintf(&text, "BenchmarkWaiting/by=%s/waiters=2-2 1 3 round-trips/turn 50 hand-off-µs\n", by)
	}
	return text.String() + strings.Join(more, "\n") + "\n"
}

// values are round trips and hand-off time, by waiters.
type values map[int][2]float64

// queue returns what was measured with by=queue, and checks the order of everything.
func queue(t *testing.T, in string) values {
	t.Helper()
	all, err := parse(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	got := values{}
	for _, s := range all {
		order = append(order, s.by)
		last := 0
		for _, p := range s.points {
			if p.waiters <= last {
				t.Errorf("%s: got %d waiters after %d", s.by, p.waiters, last)
			}
			last = p.waiters
			if s.by == "queue" {
				got[p.waiters] = [2]float64{p.median[unitRoundTrips], p.median[unitHandOff]}
			}
		}
	}
	if !reflect.DeepEqual(order, ways) {
		t.Errorf("got series %v, want %v", order, ways)
	}
	return got
}

func TestParse(t *testing.T) {
	t.Parallel()
	const at8 = "BenchmarkWaiting/by=queue/waiters=8-2 "
	for name, test := range map[string]struct {
		in   string
		want values
	}{
		"one run": {lines(), values{2: {3, 50}}},
		"median of three": {
			lines(
				at8+"1 9 round-trips/turn 100 hand-off-µs",
				at8+"1 2 round-trips/turn 900 hand-off-µs",
				at8+"1 4 round-trips/turn 300 hand-off-µs",
			), values{2: {3, 50}, 8: {4, 300}},
		},
		"median of two": {
			lines(at8+"1 2 round-trips/turn 100 hand-off-µs", at8+"1 5 round-trips/turn 200 hand-off-µs"),
			values{2: {3, 50}, 8: {3.5, 150}},
		},
		"other units": {
			lines(at8 + "1 0 ns/op 2.005 round-trips/turn 7 B/op 70.0 hand-off-µs -1 max-min"),
			values{2: {3, 50}, 8: {2.005, 70}},
		},
		"Greek letter mu":     {lines(at8 + "1 2 round-trips/turn 70 hand-off-μs"), values{2: {3, 50}, 8: {2, 70}}},
		"exponent":            {lines(at8 + "1 2 round-trips/turn 1.5e+06 hand-off-µs"), values{2: {3, 50}, 8: {2, 1.5e6}}},
		"GOMAXPROCS=1":        {strings.ReplaceAll(lines(), "-2 ", " "), values{2: {3, 50}}},
		"more in every name":  {strings.ReplaceAll(lines(), "/by=", "/on=redis/by="), values{2: {3, 50}}},
		"the other way round": {strings.ReplaceAll(lines(), "by=queue/waiters=2", "waiters=2/by=queue"), values{2: {3, 50}}},
		"foreign lines": {
			"goos: linux\n\n" + lines(
				"BenchmarkAlone/by=queue/waiters=8-2 1 2 round-trips/turn 70 hand-off-µs",
				"BenchmarkWaitingLong/by=queue/waiters=8-2 1 2 round-trips/turn 70 hand-off-µs",
				"--- FAIL: BenchmarkWaiting/by=queue/waiters=8-2",
				"again: "+at8+"1 2 round-trips/turn 70 hand-off-µs",
				"BenchmarkWaiting/by=queue/waiters=8-2",
				at8+"said something",
				strings.Repeat("x", 1<<17),
				"PASS",
			), values{2: {3, 50}},
		},
		"ascending": {
			lines(strings.ReplaceAll(at8, "8", "256")+"1 2 round-trips/turn 70 hand-off-µs",
				at8+"1 2 round-trips/turn 70 hand-off-µs"),
			values{2: {3, 50}, 8: {2, 70}, 256: {2, 70}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := queue(t, test.in); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const at8 = "BenchmarkWaiting/by=queue/waiters=8-2 1 "
	for name, test := range map[string]struct{ in, want string }{
		"nothing":            {"", "no results of BenchmarkWaiting in the input"},
		"foreign lines only": {"BenchmarkAlone-2 1 5 ns/op\nPASS\n", "no results of BenchmarkWaiting in the input"},
		"no such way": {
			strings.ReplaceAll(lines(), "linear", "queue"), "no results of BenchmarkWaiting/by=linear",
		},
		"unknown way": {
			strings.ReplaceAll(lines(), "linear", "prayer"),
			"line 1: by=prayer/waiters=2: by= is none of linear, exponential, queue",
		},
		"no way":           {"BenchmarkWaiting/waiters=2 1 5 ns/op", "line 1: waiters=2: by= is none of linear, exponential, queue"},
		"no waiters":       {"BenchmarkWaiting/by=queue-2 1 5 ns/op", "line 1: by=queue: no waiters="},
		"waiters in words": {"BenchmarkWaiting/by=queue/waiters=two 1 5 ns/op", "line 1: by=queue/waiters=two: waiters=two is not a number of waiters"},
		"nobody waits":     {"BenchmarkWaiting/by=queue/waiters=0 1 5 ns/op", "line 1: by=queue/waiters=0: waiters=0 is not a number of waiters"},
		"no round trips":   {lines(at8 + "70 hand-off-µs"), "line 4: by=queue/waiters=8: no round-trips/turn"},
		"no hand-off":      {lines(at8 + "2 round-trips/turn"), "line 4: by=queue/waiters=8: no hand-off-µs"},
		"hand-off in ns":   {lines(at8 + "2 round-trips/turn 70 hand-off-ns"), "line 4: by=queue/waiters=8: no hand-off-µs"},
		"zero":             {lines(at8 + "0 round-trips/turn 70 hand-off-µs"), "line 4: by=queue/waiters=8: 0 round-trips/turn has no place on a logarithmic axis"},
		"not a number":     {lines(at8 + "2 round-trips/turn NaN hand-off-µs"), "line 4: by=queue/waiters=8: NaN hand-off-µs has no place on a logarithmic axis"},
		"without end":      {lines(at8 + "2 round-trips/turn +Inf hand-off-µs"), "line 4: by=queue/waiters=8: +Inf hand-off-µs has no place on a logarithmic axis"},
		"cut off":          {lines(at8 + "2 round-trips/turn 70"), `line 4: by=queue/waiters=8: "70" is not a value and a unit`},
		"a word":           {lines(at8 + "two round-trips/turn"), `line 4: by=queue/waiters=8: "two round-trips/turn" is not a value and a unit`},
		"two benchmarks": {
			lines("BenchmarkWaiting/hold=1ms/by=queue/waiters=2-2 1 2 round-trips/turn 70 hand-off-µs"),
			`line 4: results of different benchmarks: "-2" and "/hold=1ms-2"`,
		},
		"two GOMAXPROCS": {
			lines("BenchmarkWaiting/by=queue/waiters=2-4 1 2 round-trips/turn 70 hand-off-µs"),
			`line 4: results of different benchmarks: "-2" and "-4"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if all, err := parse(strings.NewReader(test.in)); err == nil || err.Error() != test.want {
				t.Errorf("got %v, %v, want %s", all, err, test.want)
			}
		})
	}
}
