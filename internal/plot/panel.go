package main

import "math"

// Where things are in a panel, in pixels, from its left edge or from the top.
const (
	panelGap    = 26
	panelLeft   = 50  // room for the numbers
	panelRight  = 304 // what is right of it is for the labels
	titleLine   = 18
	aboutLine   = 37
	panelTop    = 58
	panelBottom = 262
	waitersTick = panelBottom + 20
	waitersLine = panelBottom + 40

	inset      = 12 // from the axis to the first point
	baseline   = 4  // from the middle of a text down to its baseline
	tickGap    = 24 // between the middles of two numbers below the axis
	labelSpace = 14 // from the end of a line to its label
	labelGap   = 36 // between the middles of two labels, of two lines each
	labelInset = 9  // of the middle of a label, in the height of the panel
	nameRise   = 3
	valueDrop  = 12
)

// A panel is one chart: a metric against the number of waiters.
type panel struct {
	metric
	left    float64 // of the whole panel
	all     []series
	waiters []int
	x, y    scale
}

func newPanel(m metric, all []series, left float64) panel {
	waiters := waitersOf(all)
	var values []float64
	for _, s := range all {
		values = append(values, s.values(m.unit)...)
	}
	least, most := domain(values)
	return panel{
		metric: m, left: left, all: all, waiters: waiters,
		x: scale{float64(waiters[0]), float64(waiters[len(waiters)-1]), left + panelLeft + inset, left + panelRight},
		y: scale{least, most, panelBottom, panelTop},
	}
}

func (p panel) draw(c *canvas) {
	c.text("title", p.left, titleLine, p.title)
	c.text("about", p.left, aboutLine, p.about)
	p.drawValueAxis(c)
	p.drawWaitersAxis(c)
	labels := p.labels()
	for i, s := range p.all {
		p.drawSeries(c, s, labels[i])
	}
}

// drawValueAxis draws a line across for every tick that has a number, and short ones between them.
func (p panel) drawValueAxis(c *canvas) {
	axis := p.left + panelLeft
	var grid, spine outline
	spine.segment(axis, panelTop, axis, panelBottom)
	for _, value := range ticks(p.y.least, p.y.most) {
		grid.segment(axis, p.y.at(value), p.x.end, p.y.at(value))
		c.text("num end", axis-8, p.y.at(value)+baseline, p.format(value))
	}
	for _, value := range minorTicks(p.y.least, p.y.most) {
		spine.segment(axis, p.y.at(value), axis+3, p.y.at(value))
	}
	c.path("grid", &grid)
	c.path("axis", &spine)
}

// drawWaitersAxis has its ticks where something was measured.
func (p panel) drawWaitersAxis(c *canvas) {
	at := make([]float64, len(p.waiters))
	var axis outline
	axis.segment(p.left+panelLeft, panelBottom, p.x.end, panelBottom)
	for i, n := range p.waiters {
		at[i] = p.x.at(float64(n))
		axis.segment(at[i], panelBottom, at[i], panelBottom+4)
	}
	c.path("axis", &axis)
	for i, shown := range thin(at, tickGap) {
		if shown {
			c.text("num mid", at[i], waitersTick, number(float64(p.waiters[i])))
		}
	}
	c.text("mid", (p.x.start+p.x.end)/2, waitersLine, "waiters")
}

// labels returns the heights of the middles of the labels, each at the end of its line if there is
// room.
func (p panel) labels() []float64 {
	ends := make([]float64, len(p.all))
	for i, s := range p.all {
		_, ends[i] = p.at(s, len(s.points)-1)
	}
	return spread(ends, labelGap, panelTop+labelInset, panelBottom-labelInset)
}

// drawSeries draws a line, its marks and its label, which is the name above the last value. If the
// label is not at the end of the line, a thin line leads there.
func (p panel) drawSeries(c *canvas, s series, label float64) {
	c.put(`<g class="%s">`, s.by)
	last := len(s.points) - 1
	endX, endY := p.at(s, last)
	if endX < p.x.end || math.Abs(label-endY) > baseline {
		var lead outline
		lead.segment(endX, endY, p.x.end+labelSpace-3, label)
		c.path("lead", &lead)
	}
	var line outline
	command := "M"
	for i := range s.points {
		x, y := p.at(s, i)
		line.step(command, x, y)
		command = "L"
	}
	c.path("line", &line)
	for i := range s.points {
		x, y := p.at(s, i)
		c.put(`<use href="#%s" x="%s" y="%s"/>`, s.by, coord(x), coord(y))
	}
	c.text("name", p.x.end+labelSpace, label-nameRise, s.by)
	c.text("num", p.x.end+labelSpace, label+valueDrop, p.format(rounded(s.points[last].median[p.unit])))
	c.put("</g>")
}

// at returns the place of one point of a series.
func (p panel) at(s series, i int) (x, y float64) {
	return p.x.at(float64(s.points[i].waiters)), p.y.at(s.points[i].median[p.unit])
}
