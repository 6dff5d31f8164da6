package tree

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// dotEdge is what one arrow of the picture says. Edges that say the same are one arrow.
type dotEdge struct {
	from, to string
	label    string
	deadlock int // its number; 0: none
}

// writeDot writes a graph for Graphviz.
func (v *view) writeDot(to io.Writer) error {
	w := bufio.NewWriter(to)
	say := func(format string, args ...any) { fmt.Fprintf(w, format, args...) } //nolint:errcheck // Flush tells
	say("digraph redislock {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n")
	names, edges := namesOf(v.settled, false), v.edges()
	for _, p := range joined(edges) {
		say("  %s [label=%s%s];\n", partyID(p), dotText(names.show(names.of[p], 0)), v.dotColour(v.marks[p]))
	}
	arrows, counts := v.arrows(edges)
	left := map[string]bool{}
	for _, a := range arrows {
		if strings.HasPrefix(a.to, "left") && !left[a.to] {
			left[a.to] = true
			say("  %s [label=\"left\", style=dashed];\n", a.to)
		}
		label := a.label
		if counts[a] > 1 {
			label += fmt.Sprintf("\n%d times", counts[a])
		}
		say("  %s -> %s [label=%s%s];\n", a.from, a.to, dotText(label), v.dotColour(a.deadlock))
	}
	say("}\n")
	return w.Flush()
}

// arrows are the edges with what stands beside them, each once, and how often each is there. All of a circle is among them,
// although an edge from far back in a line to the holder follows from others.
func (v *view) arrows(edges []edge) (arrows []dotEdge, counts map[dotEdge]int) {
	circled, counts := v.circled(), map[dotEdge]int{}
	missing := maps.Clone(circled)
	add := func(a dotEdge) {
		if counts[a]++; counts[a] == 1 {
			arrows = append(arrows, a)
		}
	}
	for _, e := range edges {
		c := circleEdge{e.from, e.to, e.state}
		add(v.arrow(e, circled[c]))
		delete(missing, c)
	}
	for _, c := range slices.SortedFunc(maps.Keys(missing), circleEdge.compare) {
		if max(c.from, c.to) < len(v.parties) {
			add(dotEdge{partyID(c.from), partyID(c.to), dotName(v.states[c.state].Key), circled[c]})
		}
	}
	return arrows, counts
}

func (v *view) arrow(e edge, deadlock int) dotEdge {
	a := dotEdge{partyID(e.from), fmt.Sprint("left", e.state+1), dotName(v.states[e.state].Key) + "\nto " + string(e.wants), deadlock}
	if !e.held {
		a.label += ", behind it in line"
	}
	if e.to != nobody {
		a.to = partyID(e.to)
	}
	return a
}

func dotName(key string) string { return new(names).show(key, 0) }

// dotColour is how a part of a deadlock looks; empty: it is none.
func (v *view) dotColour(deadlock int) string {
	switch {
	case deadlock == 0:
		return ""
	case v.deadlocks[deadlock-1].certain:
		return ", color=red, fontcolor=red, penwidth=2"
	}
	return ", color=red, fontcolor=red, style=dashed"
}

// dotText quotes a text for Graphviz, to which a backslash says where a line ends, and other things.
func dotText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
