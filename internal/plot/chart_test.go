//go:build proof

package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

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

// names are those of the lines of example, in their order.
var names = []string{"linear", "exponential", "queue & more"}

// example is a chart of three lines of six points, in two panels.
func example() Chart {
	panel := func(title string, format func(float64) string, values ...[6]float64) Panel {
		p := Panel{Title: title, About: "of what this is", Axis: "waiters", Format: format}
		for i, of := range values {
			line := Line{Name: names[i], Look: []Look{Orange, Green, Blue}[i]}
			for j, value := range of {
				line.Points = append(line.Points, Point{At: []float64{2, 8, 16, 32, 64, 256}[j], Value: value})
			}
			p.Lines = append(p.Lines, line)
		}
		return p
	}
	return Chart{Title: "Commands and time against the number of waiters", Panels: []Panel{
		panel("Commands", Number,
			[6]float64{3.1, 8.2, 25, 40, 60, 91}, [6]float64{2.5, 4, 5, 7, 8, 10}, [6]float64{2, 2, 2, 2, 2, 2}),
		panel("Time", Microseconds,
			[6]float64{900, 1100, 1800, 2400, 3100, 4020}, [6]float64{2e3, 3e3, 5e3, 8e3, 13e3, 20e3}, [6]float64{71, 72, 74, 75, 78, 79}),
	}}
}

func draw(t *testing.T, c Chart) []byte {
	t.Helper()
	drawing, err := Draw(c)
	if err != nil {
		t.Fatal(err)
	}
	return drawing
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

func TestDrawing(t *testing.T) {
	t.Parallel()
	drawing := draw(t, example())
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
	for _, by := range names {
		class := classOf(by)
		groups := root.find("g", class)
		if len(groups) != 2 {
			t.Fatalf("got %d lines of %s, want 2", len(groups), by)
		}
		for _, g := range groups {
			marks := g.find("use", "")
			if len(marks) != 6 || marks[0].attr("href") != "#"+class {
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
	got := tree(t, draw(t, example())).find("desc", "")[0].Text
	const want = "2 line charts with logarithmic axes." +
		" Commands, from 2 to 256 waiters: linear from 3.1 to 91, exponential from 2.5 to 10, queue & more 2." +
		" Time, from 2 to 256 waiters: linear from 900 µs to 4 ms, exponential from 2 ms to 20 ms, queue & more from 71 µs to 79 µs."
	if got = strings.ReplaceAll(got, "\u00a0", " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Where two numbers of waiters are close, one of them has a tick without a number.
func TestWaitersDoNotOverlap(t *testing.T) {
	t.Parallel()
	c := example()
	for i := range c.Panels {
		for j := range c.Panels[i].Lines {
			points := c.Panels[i].Lines[j].Points
			c.Panels[i].Lines[j].Points = []Point{points[0], points[2], {At: 250, Value: 3}, points[5]}
		}
	}
	root := tree(t, draw(t, c))
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
	c := example()
	for i, value := range []float64{3, 50} {
		lines := c.Panels[i].Lines
		lines[0].Points = []Point{{At: 2, Value: value}}
		lines[1].Points = []Point{{At: 2, Value: value}, {At: 256, Value: value * 1.01}}
		lines[2].Points = []Point{{At: 2, Value: value}, {At: 256, Value: value}}
	}
	root := tree(t, draw(t, c))
	for panel := range 2 {
		var heights []float64
		for _, by := range names {
			g := root.find("g", classOf(by))[panel]
			for _, text := range g.find("text", "") {
				heights = append(heights, text.number(t, "y"))
			}
			if leads := g.find("path", "lead"); len(leads) != 1 {
				t.Errorf("%s: got lines to its label: %v, want one", by, leads)
			}
		}
		slices.Sort(heights)
		if len(heights) != 2*len(names) || heights[0] < panelTop || heights[len(heights)-1] > panelBottom+baseline {
			t.Errorf("got texts at %v, want %d within the panel", heights, 2*len(names))
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
	for look, of := range looks {
		for _, test := range []struct{ colour, below, other string }{
			{of.light, "#ffffff", "#0d1117"},
			{of.dark, "#0d1117", "#ffffff"},
		} {
			if got := contrast(t, test.colour, test.below); got < 4.5 {
				t.Errorf("look %d: %s: got a contrast of %.2f, want 4.5", look, test.colour, got)
			}
			if got := contrast(t, test.colour, test.other); got < 2.25 {
				t.Errorf("look %d: %s: got a contrast of %.2f with the wrong background, want 2.25", look, test.colour, got)
			}
		}
	}
	light, dark, found := strings.Cut(string(draw(t, example())), "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("no colours for the dark")
	}
	for i, by := range names {
		look := looks[[]Look{Orange, Green, Blue}[i]]
		for text, colour := range map[string]string{light: look.light, dark: look.dark} {
			if rule := "." + classOf(by) + " { color: " + colour + " }"; !strings.Contains(text, rule) {
				t.Errorf("no %s", rule)
			}
		}
	}
}

// A spread is a line through its point.
func TestSpreadIsDrawn(t *testing.T) {
	t.Parallel()
	c := example()
	c.Panels[0].Lines[1].Points[1].Low, c.Panels[0].Lines[1].Points[1].High = 3, 5
	root := tree(t, draw(t, c))
	for i, by := range names {
		spread := root.find("g", classOf(by))[0].find("path", "range")
		if (len(spread) == 1) != (i == 1) {
			t.Errorf("%s: got the spreads %v", by, spread)
		}
	}
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"queue": "queue", "In line": "in-line", "a/b": "a-b", "9 of 10": "of-9-of-10", "ß": "of--", "": "of-",
		"line": "of-line", "Title": "of-title", "liner": "liner", // what the drawing has, it keeps
	} {
		if got := classOf(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(*Panel)
		want  string
	}{
		"no lines":     {func(p *Panel) { p.Lines = nil }, "Time: no lines"},
		"no points":    {func(p *Panel) { p.Lines[1].Points = nil }, "Time: exponential has no points"},
		"zero":         {func(p *Panel) { p.Lines[0].Points[2].Value = 0 }, "Time: linear: 0 has no place on a logarithmic axis"},
		"not a number": {func(p *Panel) { p.Lines[0].Points[2].Value = math.NaN() }, "Time: linear: NaN has no place on a logarithmic axis"},
		"no spread":    {func(p *Panel) { p.Lines[0].Points[2].High = 7 }, "Time: linear: 0 has no place on a logarithmic axis"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := example()
			test.spoil(&c.Panels[1])
			if drawing, err := Draw(c); err == nil || err.Error() != test.want || drawing != nil {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
