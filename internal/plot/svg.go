package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// style is the looks of the drawing. The background is whatever is below it. Where a page is dark
// and the reader's system is not, or the reverse, the media query answers for the wrong one: no
// colour is so near to black or white that it would be lost there.
//
// A way of waiting is a class that sets color alone; what is drawn in it takes it from currentColor.
const style = `
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
.lead { stroke-opacity: .6 }
use { fill: currentColor }
.linear { color: #bc4c00 }
.exponential { color: #1a7f5a }
.queue { color: #0969da }
.queue .line { stroke-width: 2.5 }
.queue .name { font-weight: 600 }
@media (prefers-color-scheme: dark) {
svg { color: #9198a1 }
.linear { color: #f0883e }
.exponential { color: #3fb98a }
.queue { color: #58a6ff }
}
`

// marks are the shapes at the points of each way, about the origin, so that the lines can be told
// apart without their colours.
const marks = `<rect id="linear" x="-3.5" y="-3.5" width="7" height="7"/>
<polygon id="exponential" points="0,-4.8 4.6,3.4 -4.6,3.4"/>
<circle id="queue" r="4"/>
`

// A canvas is an SVG in the making.
type canvas struct{ bytes.Buffer }

// put writes one line.
func (c *canvas) put(format string, args ...any) {
	fmt.Fprintf(&c.Buffer, format+"\n", args...)
}

// text writes one text, which must need no escaping.
func (c *canvas) text(class string, x, y float64, text string) {
	c.put(`<text class="%s" x="%s" y="%s">%s</text>`, class, coord(x), coord(y), text)
}

// path draws something that is not closed.
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

// coord writes a coordinate to a tenth of a pixel.
func coord(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}
