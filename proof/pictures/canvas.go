package main

import (
	"bytes"
	"fmt"
	"html"
)

// width is that of every picture: as wide as the text of a README is on a screen.
const width = 830

// The classes of the shapes: what is held by A is blue, by B orange, what goes well is green, what is lost or refused is red. A
// picture has no background of its own, so that it can be read on a light and on a dark page.
const style = `text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.dim { fill: #59636e }
.a { fill: #0969da } .b { fill: #bc4c00 } .good { fill: #1a7f5a } .bad { fill: #cf222e }
.mono { font: 11.5px ui-monospace, "DejaVu Sans Mono", monospace }
rect { fill-opacity: .15 }
line { stroke: #59636e }
line.a { stroke: #0969da } line.b { stroke: #bc4c00 } line.good { stroke: #1a7f5a } line.bad { stroke: #cf222e }
rect.a { stroke: #0969da } rect.b { stroke: #bc4c00 } rect.good { stroke: #1a7f5a } rect.bad { stroke: #cf222e; stroke-dasharray: 5 4 }
rect.frame { fill: none; stroke: #9198a1 }
.dash { stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .dim { fill: #9198a1 }
.a { fill: #58a6ff } .b { fill: #f0883e } .good { fill: #3fb98a } .bad { fill: #ff7b72 }
line { stroke: #9198a1 }
line.a { stroke: #58a6ff } line.b { stroke: #f0883e } line.good { stroke: #3fb98a } line.bad { stroke: #ff7b72 }
rect.a { stroke: #58a6ff } rect.b { stroke: #f0883e } rect.good { stroke: #3fb98a } rect.bad { stroke: #ff7b72 }
}
`

// A canvas gathers the shapes of one picture.
type canvas struct{ bytes.Buffer }

// text writes a line. The class also says where x is: "mid" is its middle, "end" its end, else its beginning.
func (c *canvas) text(class, anchor string, x, y int, text string) {
	if anchor != "" {
		anchor = fmt.Sprintf(` text-anchor="%s"`, anchor)
	}
	fmt.Fprintf(&c.Buffer, "<text class=\"%s\" x=\"%d\" y=\"%d\"%s>%s</text>\n", class, x, y, anchor, html.EscapeString(text))
}

// bar is a rectangle with a text in its middle.
func (c *canvas) bar(class string, x, y, w int, text string) {
	const height = 28
	fmt.Fprintf(&c.Buffer, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n", class, x, y, w, height)
	c.text(class, middle, x+w/2, y+18, text)
}

func (c *canvas) line(class string, x1, y1, x2, y2 int) {
	fmt.Fprintf(&c.Buffer, "<line class=\"%s\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", class, x1, y1, x2, y2)
}

// arrow is a line with a head at its end. It runs along one axis.
func (c *canvas) arrow(class string, x1, y1, x2, y2 int) {
	c.line(class, x1, y1, x2, y2)
	const head = 5
	dx, dy := sign(x2-x1)*head, sign(y2-y1)*head
	c.line(class, x2, y2, x2-dx-dy, y2-dy-dx)
	c.line(class, x2, y2, x2-dx+dy, y2-dy+dx)
}

func sign(n int) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

// The anchors of a text.
const (
	start  = ""
	middle = "middle"
	end    = "end"
)

// drawing is a whole picture. The title and the description are what a reader gets who does not see it.
func drawing(height int, title, about string, draw func(*canvas)) []byte {
	c := &canvas{}
	fmt.Fprintf(&c.Buffer, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%[2]d\" viewBox=\"0 0 %[1]d %[2]d\""+
		" xml:space=\"preserve\" role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">%[3]s</title>\n<desc id=\"desc\">%[4]s</desc>\n<style>\n%[5]s</style>\n",
		width, height, html.EscapeString(title), html.EscapeString(about), style)
	draw(c)
	c.WriteString("</svg>\n")
	return c.Bytes()
}
