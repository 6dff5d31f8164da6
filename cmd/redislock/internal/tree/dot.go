package tree

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
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
	say := func(format string, args ...any) { cli.Say(w, format, args...) } // Flush returns the error
	say("digraph redislock {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n")
	names, edges := namesOf(v.settled).of, v.edges()
	for _, p := range joined(edges) {
		say("  %s [label=%s%s];\n", partyID(p), dotText(cli.Text(names[p])), v.dotColour(v.marks[p]))
	}
	left := map[string]bool{}
	for _, a := range v.arrows(edges) {
		if strings.HasPrefix(a.to, "left") && !left[a.to] {
			left[a.to] = true
			say("  %s [label=\"left\", style=dashed];\n", a.to)
		}
		say("  %s -> %s [label=%s%s];\n", a.from, a.to, dotText(a.label), v.dotColour(a.deadlock))
	}
	say("}\n")
	return w.Flush()
}

// arrows are the edges with what stands beside them, each once. All of a circle is among them, although an edge from far back in
// a line to the holder follows from others.
func (v *view) arrows(edges []edge) (arrows []dotEdge) {
	isThere, circled := map[joint]bool{}, map[joint]int{} // circled: by the number of the first deadlock
	for _, e := range edges {
		isThere[e.joint] = true
	}
	for i := range v.deadlocks {
		for s, next := range v.deadlocks[i].links() {
			j := joint{s.party, next.party, s.state}
			if circled[j] > 0 {
				continue
			}
			if circled[j] = i + 1; !isThere[j] && max(j.from, j.to) < len(v.parties) {
				edges = append(edges, edge{From: partyID(j.from), To: partyID(j.to), KeyName: s.KeyName, joint: j})
			}
		}
	}
	isDrawn := map[dotEdge]bool{}
	for _, e := range edges {
		a := dotEdge{e.From, cmp.Or(e.To, fmt.Sprint("left", e.state+1)), cli.Text(e.Key), circled[e.joint]}
		if e.Wants != "" {
			a.label += "\nto " + string(e.Wants)
		}
		if e.Why == "line" {
			a.label += ", behind it in line"
		}
		if !isDrawn[a] {
			arrows = append(arrows, a)
		}
		isDrawn[a] = true
	}
	return arrows
}

// dotColour is how a part of a deadlock looks; empty: it is none.
func (v *view) dotColour(deadlock int) string {
	switch {
	case deadlock == 0:
		return ""
	case v.deadlocks[deadlock-1].Certain:
		return ", color=red, fontcolor=red, penwidth=2"
	}
	return ", color=red, fontcolor=red, style=dashed"
}

// dotText quotes a text for Graphviz, to which a backslash says where a line ends, and other things.
func dotText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
