package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// blocks are n that are all the same.
func blocks(n int, u course.Usage) []course.Usage {
	u.Ops = 1
	return slices.Repeat([]course.Usage{u}, n)
}

// atMost is a limit of the server's time.
func atMost(most float64, beside course.Beside) []course.Limit {
	return []course.Limit{{Of: course.Server, Most: most, Beside: beside}}
}

// sample has a kind with a limit that is kept, one whose figures are above before, one beside the least script, and one that was
// measured too seldom.
func sample() []result {
	us := time.Microsecond
	own := course.Usage{Server: 40 * us, Client: 123400, Allocs: 20, Bytes: 400, Commands: 5}
	lower, higher := own, own
	lower.Server, lower.Client, higher.Allocs = 20*us, 100*us, 40
	least := course.Usage{Server: 25 * us}
	sides := func(n int, own, before, old course.Usage) map[string][]course.Usage {
		return map[string][]course.Usage{"tree": blocks(n, own), "before": blocks(n, before), "old": blocks(n, old)}
	}
	return []result{
		{course.Kind{Name: "kept", Limits: atMost(1, course.Old)}, sides(12, own, own, higher)},
		{course.Kind{Name: "above", Limits: atMost(.9, course.Old)}, sides(12, own, lower, lower)},
		{course.Kind{Name: "refused", Limits: atMost(1.25, course.Script)}, sides(12, own, own, lower)},
		{course.Kind{Name: "the script", Act: course.Least, Is: course.Script}, sides(12, least, least, least)},
		{course.Kind{Name: "seldom"}, sides(3, own, lower, own)},
	}
}

// Kinds of each place have a table of their own, with the figures that count there. A limit may refer to another figure and to
// another kind, and what is not ours has no verdict.
func TestTablesOfPlaces(t *testing.T) {
	t.Parallel()
	us := time.Microsecond
	own := course.Usage{Server: 30 * us, Client: 20 * us, Allocs: 10, Heap: 500, Wall: 40 * us}
	peer, more := own, own
	peer.Server, peer.Wall, more.Heap = 20*us, 100*us, 1000
	sides := func(own, before course.Usage) map[string][]course.Usage {
		return map[string][]course.Usage{"tree": blocks(12, own), "before": blocks(12, before), "old": blocks(12, own)}
	}
	limit := func(of course.Figure, most float64, beside course.Beside) []course.Limit {
		return []course.Limit{{Of: of, Most: most, Beside: beside}}
	}
	lines := linesOf([]result{
		{course.Kind{Name: "here", Limits: append(atMost(1, course.Old), limit(course.Both, 1.1, course.Peer)...)}, sides(own, own)},
		{course.Kind{Name: "peer", Act: course.BSM, Is: course.Peer}, sides(peer, own)},
		{course.Kind{Name: "inside", Place: course.Memory, Limits: limit(course.Client, .9, course.Old)}, sides(more, own)},
		{course.Kind{Name: "wide", Place: course.Many, Limits: limit(course.Time, .5, course.RawFew)}, sides(own, own)},
		{course.Kind{Name: "raw", Act: course.Raw, Place: course.Many, Is: course.RawFew}, sides(peer, own)},
	})
	const want = `| server CPU of | tree | ÷ before |
|---|---|---|
| here | 30 µs | 1.00 |

| client CPU of | tree | ÷ before |
|---|---|---|
| inside | 20 µs | 1.00 |

| time of | tree | ÷ before |
|---|---|---|
| wide | 40 µs | 1.00 |
`
	if diff := cmp.Diff(want, tables(lines)); diff != "" {
		t.Errorf("the tables (-want +got):\n%s", diff)
	}
	const missed = `Of 4 aims 2 hold. These do not hold:

|  | has to be | is |
|---|---|---|
| here: CPU of both ÷ bsm/redislock | at most 1.10 | 1.25 |
| inside: client CPU ÷ old | at most 0.90 | 1.00 |
`
	if diff := cmp.Diff(missed, aims(lines)); diff != "" {
		t.Errorf("the aims (-want +got):\n%s", diff)
	}
	if got, want := aims(lines[3:]), "All of 1 aims hold.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const but = "In this run every figure is within that limit but these: inside: fails: bytes allocated.\n"
	if got := besideBefore(lines); got != but {
		t.Errorf("got %q, want %q", got, but)
	}
	if got := besideBefore(lines[:2]); got != "In this run every figure is within that limit.\n" {
		t.Errorf("of kinds that hold: got %q", got)
	}
	failed := []string{"inside: bytes allocated 2.00 × (2.00 to 2.00)"}
	if diff := cmp.Diff(failed, failures(lines)); diff != "" {
		t.Errorf("what fails (-want +got):\n%s", diff)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	lines := linesOf(sample())
	const server = `| server CPU of | tree | ÷ before |
|---|---|---|
| kept | 40 µs | 1.00 |
| above | 40 µs | 2.00 |
| refused | 40 µs | 1.00 |
| seldom | 40 µs | 2.00 |
`
	if diff := cmp.Diff(server, tables(lines)); diff != "" {
		t.Errorf("the server's time (-want +got):\n%s", diff)
	}
	const but = "In this run every figure is within that limit but these: above: fails: server CPU, client CPU; " +
		"seldom: no verdict: server CPU, client CPU, allocations, bytes, commands.\n"
	if got := besideBefore(lines); got != but {
		t.Errorf("got %q, want %q", got, but)
	}
	want := []string{"above: server CPU 2.00 × (2.00 to 2.00), client CPU 1.23 × (1.23 to 1.23)"}
	if diff := cmp.Diff(want, failures(lines)); diff != "" {
		t.Errorf("what fails (-want +got):\n%s", diff)
	}
}

// More commands fail nothing where they take the server much less time.
func TestCommandsOfLittleWork(t *testing.T) {
	t.Parallel()
	own := course.Usage{Server: 40 * time.Microsecond, Client: 1000, Commands: 12}
	for server, want := range map[time.Duration][]string{
		50 * time.Microsecond: nil,
		42 * time.Microsecond: {"a turn: commands 1.20 × (1.20 to 1.20)"},
	} {
		before := own
		before.Server, before.Commands = server, 10
		sides := map[string][]course.Usage{"tree": blocks(12, own), "before": blocks(12, before), "old": blocks(12, own)}
		got := failures(linesOf([]result{{course.Kind{Name: "a turn"}, sides}}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v before (-want +got):\n%s", server, diff)
		}
	}
}

func TestWritten(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]float64{"7": 7, "7.4": 7.42, "42.4": 42.42, "42": 42.02, "424": 424.2, "?": spreadOf(nil).Low} {
		if got := written(value); got != want {
			t.Errorf("%v: got %q, want %q", value, got, want)
		}
	}
}

// The page of this repository has a place for each part.
func TestPageHasAllParts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs/measurements.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range partsOf(nil, "") {
		if _, err := p.Into(string(text)); err != nil {
			t.Error(err)
		}
	}
}
