package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The tests of a process are of one package, and cost no more than the limit, unless it is only one.
func TestNext(t *testing.T) {
	a, b := &binary{}, &binary{}
	tests := []*test{{Name: "1", Costs: 5, in: a}, {Name: "2", Costs: 1, in: b}, {Name: "3", Costs: 6, in: a}, {Name: "4", Costs: 5, in: a}}
	var got []string
	for later := tests; len(later) > 0; {
		var now []*test
		now, later = next(later, 10)
		got = append(got, names(now))
	}
	if diff := cmp.Diff([]string{"1|4", "2", "3"}, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	for _, test := range (&campaign{most: 7}).within(tests) {
		got = append(got, test.Name)
	}
	if diff := cmp.Diff([]string{"1", "2"}, got); diff != "" {
		t.Error(diff)
	}
}

// Mutants that are planted together are of different functions.
func TestApart(t *testing.T) {
	var some []*defect
	for i := range 20 {
		some = append(some, &defect{file: "a.go", function: fmt.Sprint(i / 2)})
	}
	count := 0
	for _, group := range apart(some) {
		in := map[string]bool{}
		for _, m := range group {
			in[m.function] = true
		}
		if len(in) != len(group) || len(group) > together {
			t.Error("a group of", len(group), "in", len(in), "functions")
		}
		count += len(group)
	}
	if count != len(some) {
		t.Error(count, "are in groups")
	}
}

// What has noticed a mutant comes first for others of its function, then for those of its file; what is cheap comes before what is
// expensive; and what has noticed nothing comes last.
func TestOrder(t *testing.T) {
	f, g := &defect{file: "a.go", function: "f"}, &defect{file: "a.go", function: "g"}
	ofF, ofG, quick, slow, never := &test{Name: "F"}, &test{Name: "G"}, &test{Name: "quick"}, &test{Name: "slow", Costs: time.Second}, &test{Name: "never"}
	h := history{tally: map[string]map[*test]*tally{}}
	h.note(f, []*test{ofF}, caught, ofF)
	h.note(g, []*test{ofG}, caught, nil)
	for range 3 {
		h.note(f, []*test{never}, survived, nil)
	}
	if got := names(h.order(f, []*test{never, slow, quick, ofG, ofF})); got != "F|G|quick|never|slow" {
		t.Error(got)
	}
	if h.chance(f, ofF) < likely || h.chance(f, quick) >= likely {
		t.Error(h.chance(f, ofF), h.chance(f, quick))
	}
}
