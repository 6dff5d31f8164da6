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

func TestTables(t *testing.T) {
	t.Parallel()
	lines := linesOf(sample())
	const server = `| server CPU of | tree | ÷ before | ÷ old | has to be | is it | all figures beside before |
|---|---|---|---|---|---|---|
| kept | 40 µs | 1.00 | 1.00 | at most 1.00 × old | yes: 1.00 | holds |
| above | 40 µs | 2.00 | 2.00 | at most 0.90 × old | no: 2.00 | fails: server CPU, client CPU |
| refused | 40 µs | 1.00 | 2.00 | at most 1.25 × the least script | no: 1.60 | holds |
| seldom | 40 µs | 2.00 | 1.00 |  |  | no verdict: server CPU, client CPU, allocations, bytes, commands |
`
	if diff := cmp.Diff(server, tables(lines, mainTable)); diff != "" {
		t.Errorf("the server's time (-want +got):\n%s", diff)
	}
	const others = `| tree, ÷ before, ÷ old | client CPU | allocations | bytes | commands |
|---|---|---|---|---|
| kept | 123 µs, 1.00, 1.00 | 20, 1.00, 0.50 | 400, 1.00, 1.00 | 5, 1.00, 1.00 |
| above | 123 µs, 1.23, 1.23 | 20, 1.00, 1.00 | 400, 1.00, 1.00 | 5, 1.00, 1.00 |
| refused | 123 µs, 1.00, 1.23 | 20, 1.00, 1.00 | 400, 1.00, 1.00 | 5, 1.00, 1.00 |
| seldom | 123 µs, 1.23, 1.00 | 20, 1.00, 1.00 | 400, 1.00, 1.00 | 5, 1.00, 1.00 |
`
	if diff := cmp.Diff(others, tables(lines, otherTable)); diff != "" {
		t.Errorf("the other figures (-want +got):\n%s", diff)
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

func TestRanged(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]spread{
		"1.00":                spreadAs(.999, 1, 1.001, 8),
		"1.21 (1.10 to 1.30)": spreadAs(1.1, 1.21, 1.3, 8),
		"?":                   spreadOf(nil),
	} {
		if got := ranged(s); got != want {
			t.Errorf("%v: got %q, want %q", s, got, want)
		}
	}
	for want, value := range map[string]float64{"7": 7, "7.4": 7.42, "42.4": 42.42, "42": 42.02, "424": 424.2, "?": spreadOf(nil).Low} {
		if got := written(value); got != want {
			t.Errorf("%v: got %q, want %q", value, got, want)
		}
	}
}

// The page of this repository has a place for each part.
func TestPageHasAllParts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs/costs.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range partsOf(nil, "") {
		if _, err := p.Into(string(text)); err != nil {
			t.Error(err)
		}
	}
}
