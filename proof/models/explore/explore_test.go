package explore

import (
	"slices"
	"testing"
)

// pair is two counters, each up to three, the second never behind the first.
func pair(wrong, end func([2]int) string) Model[[2]int] {
	return Model[[2]int]{
		Name: "pair",
		Next: func(s [2]int, visit func(Event, [2]int)) {
			if s[0] < s[1] {
				visit(Step("first from %d", s[0]), [2]int{s[0] + 1, s[1]})
			}
			if s[1] < 3 {
				visit(Step("second from %d", s[1]), [2]int{s[0], s[1] + 1})
			}
		},
		Wrong: wrong,
		End:   end,
	}
}

func fine([2]int) string { return "" }

// Every state is visited once.
func TestSearchVisitsAll(t *testing.T) {
	t.Parallel()
	if got := pair(fine, nil).Search(Limit{}); got.States != 10 || got.Violations != 0 || len(got.Ways) != 0 {
		t.Errorf("got %+v, want 10 states", got)
	}
}

// The way to a violation is a shortest one, and no step is taken from it.
func TestSearchTellsTheWay(t *testing.T) {
	t.Parallel()
	wrong := func(s [2]int) string {
		if s[1] >= 2 {
			return "two"
		}
		return ""
	}
	got := pair(wrong, nil).Search(Limit{})
	if want := []string{"second from 0", "second from 1"}; !slices.Equal(got.Ways["two"], want) || got.States != 5 || got.Violations != 2 {
		t.Errorf("got %+v, want 2 violations in 5 states, the first by %q", got, want)
	}
}

// The end is asked where no step is possible, and nowhere else.
func TestSearchAsksAtTheEnd(t *testing.T) {
	t.Parallel()
	got := pair(fine, func(s [2]int) string {
		if s == [2]int{3, 3} {
			return "the end"
		}
		return "not the end"
	}).Search(Limit{})
	if len(got.Ways) != 1 || len(got.Ways["the end"]) != 6 || got.Violations != 1 {
		t.Errorf("got %+v, want one end, after 6 steps", got)
	}
}

// A limit ends a search.
func TestLimit(t *testing.T) {
	t.Parallel()
	if got := pair(fine, nil).Search(Limit{States: 4}); got.States < 4 || got.States > 5 {
		t.Errorf("got %d states, want 4, or one more", got.States)
	}
	always := func([2]int) string { return "wrong" }
	if got := pair(always, nil).Search(Limit{Violations: 1}); got.States != 1 || got.Violations != 1 {
		t.Errorf("got %+v, want one state", got)
	}
}

// A step that changes nothing is none, so that the state is an end.
func TestStepThatChangesNothing(t *testing.T) {
	t.Parallel()
	ends := 0
	Model[int]{
		Next:  func(_ int, visit func(Event, int)) { visit(Step("to 1"), 1) },
		Wrong: func(int) string { return "" },
		End: func(s int) string {
			ends += s
			return ""
		},
	}.Search(Limit{})
	if ends != 1 {
		t.Errorf("the end was asked of %d, want 1", ends)
	}
}

// A circle without a way out does not settle; one with a way out does.
func TestSettles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		out  bool
		want int
	}{"closed": {false, 1}, "open": {true, 0}} {
		got := Model[int]{
			Next: func(s int, visit func(Event, int)) {
				if s < 3 {
					visit(Step("round from %d", s), (s+1)%3)
				}
				if s == 1 && tt.out {
					visit(Step("out"), 3)
				}
			},
			Wrong:   func(int) string { return "" },
			Settles: true,
		}.Search(Limit{})
		if got.Violations != tt.want {
			t.Errorf("%s: got %+v, want %d violations", name, got, tt.want)
		}
	}
}
