package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// A node is an element of the drawing.
type node struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Nodes   []node     `xml:",any"`
}

func (n node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// number reads an attribute that must be one.
func (n node) number(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(n.attr(name), 64)
	if err != nil {
		t.Errorf("%s of %s %q: %v", name, n.XMLName.Local, n.Text, err)
	}
	return v
}

// find returns the elements of a kind, of a class if it is not empty, in the order of the drawing.
func (n node) find(kind, class string) []node {
	var found []node
	if n.XMLName.Local == kind && (class == "" || slices.Contains(strings.Fields(n.attr("class")), class)) {
		found = append(found, n)
	}
	for _, inner := range n.Nodes {
		found = append(found, inner.find(kind, class)...)
	}
	return found
}

func draw(t *testing.T, in string) []byte {
	t.Helper()
	all, err := parse(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	return chart(all)
}

// tree reads a drawing, which must be one well-formed element.
func tree(t *testing.T, drawing []byte) node {
	t.Helper()
	var root node
	d := xml.NewDecoder(bytes.NewReader(drawing))
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return root
		}
		if text, ok := token.(xml.CharData); err != nil || !ok || len(bytes.TrimSpace(text)) > 0 {
			t.Fatalf("after the drawing: got %v, %v", token, err)
		}
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	const file = "testdata/waiting.svg"
	got := draw(t, input(t))
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the drawing is not %s; if it is meant to change, look at it after go test -update", file)
	}
}

// The order of the lines, and how often it is drawn, do not matter.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	in := input(t)
	want := draw(t, in)
	reversed := strings.Split(in, "\n")
	slices.Reverse(reversed)
	for range 10 {
		if got := draw(t, strings.Join(reversed, "\n")); !bytes.Equal(got, want) {
			t.Fatal("got another drawing")
		}
	}
}

func TestDrawing(t *testing.T) {
	t.Parallel()
	drawing := draw(t, input(t))
	root := tree(t, drawing)
	if len(drawing) > 8<<10 {
		t.Errorf("got %d bytes, want at most 8 KB", len(drawing))
	}
	if precise := regexp.MustCompile(`\d\.\d{2,}`).Find(drawing[bytes.Index(drawing, []byte("</desc>")):]); precise != nil {
		t.Errorf("got %s, want coordinates to a tenth of a pixel", precise)
	}
	for _, foreign := range []string{"<script", "@import", "@font-face", "url(", "<image", "-0\"", "NaN"} {
		if bytes.Contains(drawing, []byte(foreign)) {
			t.Errorf("got %s in the drawing", foreign)
		}
	}
	for _, kind := range []string{"title", "desc"} {
		found := root.find(kind, "")
		if len(found) != 1 || !strings.Contains(root.attr("aria-labelledby"), found[0].attr("id")) || len(found[0].Text) < 40 {
			t.Errorf("got %v as %s", found, kind)
		}
	}
	for _, by := range ways {
		groups := root.find("g", by)
		if len(groups) != len(metrics) {
			t.Fatalf("got %d lines of %s, want %d", len(groups), by, len(metrics))
		}
		for _, g := range groups {
			marks := g.find("use", "")
			if len(marks) != 6 || marks[0].attr("href") != "#"+by {
				t.Errorf("%s: got marks %v, want 6 of its own", by, marks)
			}
			if names := g.find("text", "name"); len(names) != 1 || names[0].Text != by {
				t.Errorf("%s: got the names %v", by, names)
			}
			if leads := g.find("path", "lead"); len(leads) > 0 {
				t.Errorf("%s: got a line to its label, which is where it wants to be", by)
			}
		}
	}
	var axes []string
	for _, text := range root.find("text", "end") {
		axes = append(axes, text.Text)
	}
	if got, want := strings.Join(axes, "|"), "1|10|100|100\u00a0µs|1\u00a0ms|10\u00a0ms"; got != want {
		t.Errorf("got ticks %s, want %s", got, want)
	}
}

func TestDescription(t *testing.T) {
	t.Parallel()
	got := tree(t, draw(t, input(t))).find("desc", "")[0].Text
	const want = "Two line charts with logarithmic axes, from 2 to 256 waiters." +
		" Commands per acquisition: linear from 3.1 to 91, exponential from 2.5 to 10, queue 2." +
		" Hand-off time: linear from 900 µs to 4 ms, exponential from 2 ms to 20 ms, queue from 71 µs to 79 µs."
	if got = strings.ReplaceAll(got, "\u00a0", " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Where two numbers of waiters are close, one of them has a tick without a number.
func TestWaitersDoNotOverlap(t *testing.T) {
	t.Parallel()
	root := tree(t, draw(t, lines(
		"BenchmarkWaiting/by=queue/waiters=16-2 1 2 commands/turn 70 hand-off-µs",
		"BenchmarkWaiting/by=queue/waiters=250-2 1 2 commands/turn 70 hand-off-µs",
		"BenchmarkWaiting/by=queue/waiters=256-2 1 2 commands/turn 70 hand-off-µs",
	)))
	var numbers []string
	for _, text := range root.find("text", "mid") {
		numbers = append(numbers, text.Text)
	}
	if got, want := strings.Join(numbers, " "), "2 16 256 waiters 2 16 256 waiters"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Three lines end at one height, one of them early.
func TestLabelsDoNotOverlap(t *testing.T) {
	t.Parallel()
	root := tree(t, draw(t, lines(
		"BenchmarkWaiting/by=queue/waiters=256-2 1 3 commands/turn 50 hand-off-µs",
		"BenchmarkWaiting/by=exponential/waiters=256-2 1 3.01 commands/turn 51 hand-off-µs",
	)))
	for panel := range metrics {
		var heights []float64
		for _, by := range ways {
			g := root.find("g", by)[panel]
			for _, text := range g.find("text", "") {
				heights = append(heights, text.number(t, "y"))
			}
			if leads := g.find("path", "lead"); len(leads) != 1 {
				t.Errorf("%s: got lines to its label: %v, want one", by, leads)
			}
		}
		slices.Sort(heights)
		if len(heights) != 2*len(ways) || heights[0] < panelTop || heights[len(heights)-1] > panelBottom+baseline {
			t.Errorf("got texts at %v, want %d within the panel", heights, 2*len(ways))
		}
		for i := range heights[1:] {
			if heights[i+1]-heights[i] < 14.9 {
				t.Errorf("got texts at %v, want 15 between them", heights)
			}
		}
	}
}

// contrast is the ratio that WCAG 2 defines, between two colours such as #1a7f5a.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(colour string) (sum float64) {
		rgb, err := strconv.ParseUint(colour[1:], 16, 24)
		if err != nil {
			t.Fatal(err)
		}
		for i, weight := range []float64{.0722, .7152, .2126} {
			c := float64(rgb>>(8*i)&0xff) / 255
			if c <= .04045 {
				sum += weight * c / 12.92
			} else {
				sum += weight * math.Pow((c+.055)/1.055, 2.4)
			}
		}
		return sum
	}
	x, y := luminance(a)+.05, luminance(b)+.05
	return max(x/y, y/x)
}

func TestColours(t *testing.T) {
	t.Parallel()
	light, dark, found := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("no colours for the dark")
	}
	for scheme, test := range map[string]struct{ style, below, other string }{
		"light": {light, "#ffffff", "#0d1117"},
		"dark":  {dark, "#0d1117", "#ffffff"},
	} {
		for _, of := range append([]string{"svg"}, ways...) {
			colour := regexp.MustCompile(fmt.Sprintf(`(?m)^\.?%s \{ color: (#[0-9a-f]{6}) \}$`, of)).FindStringSubmatch(test.style)
			if colour == nil {
				t.Errorf("%s: no colour for %s", scheme, of)
				continue
			}
			if got := contrast(t, colour[1], test.below); got < 4.5 {
				t.Errorf("%s: %s: got a contrast of %.2f, want 4.5", scheme, of, got)
			}
			if got := contrast(t, colour[1], test.other); got < 2.25 {
				t.Errorf("%s: %s: got a contrast of %.2f with the wrong background, want 2.25", scheme, of, got)
			}
		}
	}
}
