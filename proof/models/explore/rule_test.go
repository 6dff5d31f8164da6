package explore

import (
	"slices"
	"testing"
)

// A table knows its rules by their constants and by their names.
func TestTable(t *testing.T) {
	t.Parallel()
	table := Table[int8]{1: {Name: "first", Text: "one"}, 2: {Name: "second", Text: "two"}}
	want := []Rule{{Name: "second", Text: "two"}, {Name: "first", Text: "one"}}
	if got := table.Of(2, 1); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for want, name := range []string{"", "first", "second"} {
		if got := table.Named(name); int(got) != want {
			t.Errorf("%q: got %d, want %d", name, got, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a name that no rule has is taken for one")
		}
	}()
	table.Named("third")
}
