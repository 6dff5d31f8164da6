package plot

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// common is the part of the style that does not depend on the lines. The drawing has no background.
const common = `
svg { color: #59636e }
text { font: 12px system-ui, sans-serif; fill: currentColor }
.title { font-size: 15px; font-weight: 600 }
.num { font-variant-numeric: tabular-nums }
.about, .name { font-size: 13px }
.end { text-anchor: end }
.mid { text-anchor: middle }
path { fill: none; stroke: currentColor }
.grid { stroke-opacity: .2 }
.axis { stroke-opacity: .6 }
.line { stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }
.lead, .range { stroke-opacity: .6 }
.cross { stroke-width: 2 }
use { fill: currentColor }
`

// A canvas is an SVG in the making.
type canvas struct{ bytes.Buffer }

// put writes one line.
func (c *canvas) put(format string, args ...any) {
	fmt.Fprintf(&c.Buffer, format+"\n", args...)
}

// text writes one text.
func (c *canvas) text(class string, x, y float64, text string) {
	c.put(`<text class="%s" x="%s" y="%s">%s</text>`, class, coord(x), coord(y), escaped(text))
}

// escaped is a text as it stands between two tags.
func escaped(text string) string { return html.EscapeString(text) }

// path draws an open path.
func (c *canvas) path(class string, path *outline) {
	c.put(`<path class="%s" d="%s"/>`, class, path)
}

// An outline is the data of a path.
type outline struct{ strings.Builder }

// segment adds a straight line of its own.
func (o *outline) segment(x1, y1, x2, y2 float64) {
	o.step("M", x1, y1)
	switch {
	case y1 == y2:
		o.WriteString("H" + coord(x2))
	case x1 == x2:
		o.WriteString("V" + coord(y2))
	default:
		o.step("L", x2, y2)
	}
}

// step adds one command with one point.
func (o *outline) step(command string, x, y float64) {
	o.WriteString(command + coord(x) + "," + coord(y))
}

// coord writes a coordinate as a whole pixel: nobody sees less, and a file of many tenths is larger.
func coord(v float64) string {
	return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
}
