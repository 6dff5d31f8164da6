package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
)

// drawn is the graph of arrows as in "a>b b>c d".
func drawn(arrows string) graph {
	g := graph{}
	for _, arrow := range strings.Fields(arrows) {
		from, to, found := strings.Cut(arrow, ">")
		if !found {
			to = from
		}
		g.add(from, to)
	}
	return g
}

func TestGraph(t *testing.T) {
	t.Parallel()
	for arrows, want := range map[string]struct{ largest, back, floors int }{
		"":                        {0, 0, 0},
		"a":                       {1, 0, 1},
		"a>b b>c":                 {1, 0, 3},
		"a>b a>c b>d c>d":         {1, 0, 3},
		"a>b b>a":                 {2, 1, 2},
		"a>b b>c c>a":             {3, 1, 3},
		"a>b b>a b>c c>d d>c d>e": {2, 2, 2},
		"a>b b>c c>d d>a b>a":     {4, 1, 4},
		"a>b b>a a>c c>a b>c c>b": {3, 3, 3},
	} {
		g := drawn(arrows)
		back, floors := g.back()
		if g.largest() != want.largest || back != want.back || floors != want.floors {
			t.Errorf("%s: got %d, %d, %d, want %d", arrows, g.largest(), back, floors, want)
		}
	}
}

func TestKnots(t *testing.T) {
	t.Parallel()
	got := drawn("a>b b>c c>b c>d d>e e>f f>d").knots()
	if diff := cmp.Diff([][]string{{"d", "e", "f"}, {"b", "c"}, {"a"}}, got); diff != "" {
		t.Errorf("knots (-want +got):\n%s", diff)
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	const line = module + "/internal/wire/lane.go:12:\t\t*lane.send\t\t"
	first := check.Must[route](t)(readRoute(line + "100.0%\n" + module + "/lock.go:3:\tLock.TTL\t10.0%\n" +
		module + "/lock.go:9:\tLock.Keys\t0.0%\n" + module + "/proof/layout/walker/main.go:3:\tmain\t50.0%\n" +
		"total\t(statements)\t20.0%\n"))
	want := route{{"internal/wire/lane.go", "*lane.send"}: true, {"lock.go", "Lock.TTL"}: true}
	if !maps.Equal(first, want) {
		t.Errorf("got %v, want %v", first, want)
	}
	second := check.Must[route](t)(readRoute(line + "0.1%\n"))
	common := inAll([]route{first, second, first})
	if !maps.Equal(common, second) {
		t.Errorf("in all: got %v, want %v", common, second)
	}
	if files := slices.Sorted(maps.Keys(first.files())); !slices.Equal(files, []string{"internal/wire/lane.go", "lock.go"}) {
		t.Errorf("got files %v", files)
	}
	if _, err := readRoute("something else\n"); err == nil {
		t.Error("a line that is no function is read, want an error")
	}
}

func TestAbove(t *testing.T) {
	t.Parallel()
	got := above(figures{"a": 3, "b": 4, "c": 5}, []limit{{"a", none, 3}, {"b", 5, 3}})
	slices.Sort(got)
	want := []string{"b: 4, want at most 3: see limits.go", "c: 5, and no limit in limits.go"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	found := figures{}
	for _, l := range limits {
		found[l.figure] = l.target
	}
	text := check.Must[string](t)(table(found))
	if strings.Contains(text, "not hold") {
		t.Errorf("at the target: got\n%s", text)
	}
	found[limits[0].figure]++
	text = check.Must[string](t)(table(found))
	if strings.Count(text, "does not hold") != 1 {
		t.Errorf("one above the target: got\n%s", text)
	}
	delete(found, limits[0].figure)
	if _, err := table(found); err == nil {
		t.Error("a figure that nobody has measured is shown, want an error")
	}
}
