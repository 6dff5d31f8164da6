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
	deadlock int        // its number; 0: none
	circled  circleEdge // what it is in it
}

// writeDot writes a graph for Graphviz.
func (v *view) writeDot(to io.Writer) error {
	w := bufio.NewWriter(to)
	say := func(format string, args ...any) { fmt.Fprintf(w, format, args...) } //nolint:errcheck // Flush tells
	say("digraph redislock {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n")
	names, edges := namesOf(v.settled, false), v.edges()
	for p, is := range v.inEdges(edges) {
		if is {
			colour := ""
			if i := v.marks[p]; i > 0 {
				colour = ", " + v.dotColour(i)
			}
			say("  %s [label=%s%s];\n", partyID(p), dotText(names.show(names.of[p], 0)), colour)
		}
	}
	arrows, counts := v.arrows(edges)
	left := map[string]bool{}
	for i, a := range arrows {
		if strings.HasPrefix(a.to, "left") && !left[a.to] {
			left[a.to] = true
			say("  %s [label=\"left\", style=dashed];\n", a.to)
		}
		label, colour := a.label, ""
		if counts[i] > 1 {
			label += fmt.Sprintf("\n%d times", counts[i])
		}
		if a.deadlock > 0 {
			colour = ", " + v.dotColour(a.deadlock)
		}
		say("  %s -> %s [label=%s%s];\n", a.from, a.to, dotText(label), colour)
	}
	say("}\n")
	return w.Flush()
}

// arrows are the edges with what stands beside them, each once, and how often each is there. All of a circle is among them,
// although an edge from far back in a line to the holder follows from others.
func (v *view) arrows(edges []edge) (arrows []dotEdge, counts []int) {
	circled, at := v.circled(), map[dotEdge]int{}
	for _, e := range edges {
		a := v.arrow(e, circled)
		i, has := at[a]
		if !has {
			i = len(arrows)
			at[a] = i
			arrows, counts = append(arrows, a), append(counts, 0)
		}
		counts[i]++
	}
	for _, a := range arrows {
		if a.deadlock > 0 {
			delete(circled, a.circled)
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(circled), circleEdge.compare) {
		if max(c.from, c.to) < len(v.parties) {
			label := dotName(v.states[c.state].Key)
			arrows = append(arrows, dotEdge{from: partyID(c.from), to: partyID(c.to), label: label, deadlock: circled[c]})
			counts = append(counts, 1)
		}
	}
	return arrows, counts
}

func (v *view) arrow(e edge, circled map[circleEdge]int) dotEdge {
	a := dotEdge{from: partyID(e.from), to: fmt.Sprint("left", e.state+1), label: dotName(v.states[e.state].Key) + "\nto " + string(e.wants)}
	if !e.held {
		a.label += ", behind it in line"
	}
	if e.to != nobody {
		a.to = partyID(e.to)
		c := circleEdge{e.from, e.to, e.state}
		if a.deadlock = circled[c]; a.deadlock > 0 {
			a.circled = c
		}
	}
	return a
}

// dotName is a key as the tool shows it.
func dotName(key string) string { return new(names).show(key, 0) }

func (v *view) dotColour(deadlock int) string {
	if v.deadlocks[deadlock-1].certain {
		return `color=red, fontcolor=red, penwidth=2`
	}
	return `color=red, fontcolor=red, style=dashed`
}

// dotText quotes a text for Graphviz, to which a backslash says where a line ends, and other things.
func dotText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
