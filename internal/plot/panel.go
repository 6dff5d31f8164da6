package plot

import (
	"math"
	"slices"
)

// Where things are in a panel, in pixels, from its left edge or from the top.
const (
	panelGap    = 26
	panelLeft   = 50  // room for the numbers
	panelRight  = 304 // the labels are right of it
	titleLine   = 18
	aboutLine   = 37
	panelTop    = 58
	panelBottom = 262
	placeTick   = panelBottom + 20
	placeLine   = panelBottom + 40

	inset      = 12 // from the axis to the first point
	baseline   = 4  // from the middle of a text down to its baseline
	tickGap    = 24 // between the middles of two numbers below the axis
	labelSpace = 14 // from the end of a line to its label
	labelGap   = 36 // between the middles of two labels, of two lines each
	labelInset = 9  // of the middle of a label, in the height of the panel
	nameRise   = 3
	valueDrop  = 12
)

// A placed panel knows where its values are.
type placed struct {
	Panel
	left float64 // of the whole panel
	x, y scale
}

func place(p Panel, left float64) placed {
	at := p.places()
	var values []float64
	for _, l := range p.Lines {
		for _, point := range l.Points {
			values = append(append(values, point.Value), point.spread()...)
		}
	}
	least, most := domain(values)
	return placed{
		Panel: p, left: left,
		x: scale{at[0], at[len(at)-1], left + panelLeft + inset, left + panelRight},
		y: scale{least, most, panelBottom, panelTop},
	}
}

// places returns every place with a measurement, in ascending order.
func (p Panel) places() []float64 {
	var at []float64
	for _, l := range p.Lines {
		for _, point := range l.Points {
			at = append(at, point.At)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

func (p placed) draw(c *canvas) {
	c.text("title", p.left, titleLine, p.Title)
	c.text("about", p.left, aboutLine, p.About)
	p.drawValueAxis(c)
	p.drawPlaceAxis(c)
	labels := p.labels()
	for i, l := range p.Lines {
		p.drawLine(c, l, labels[i])
	}
}

// drawValueAxis draws a line across for every tick that has a number, and short ones between them.
func (p placed) drawValueAxis(c *canvas) {
	axis := p.left + panelLeft
	var grid, spine outline
	spine.segment(axis, panelTop, axis, panelBottom)
	for _, value := range ticks(p.y.least, p.y.most) {
		grid.segment(axis, p.y.at(value), p.x.end, p.y.at(value))
		c.text("num end", axis-8, p.y.at(value)+baseline, p.Format(value))
	}
	for _, value := range minorTicks(p.y.least, p.y.most) {
		spine.segment(axis, p.y.at(value), axis+3, p.y.at(value))
	}
	c.path("grid", &grid)
	c.path("axis", &spine)
}

// drawPlaceAxis has its ticks at the places with measurements.
func (p placed) drawPlaceAxis(c *canvas) {
	places := p.places()
	at := make([]float64, len(places))
	var axis outline
	axis.segment(p.left+panelLeft, panelBottom, p.x.end, panelBottom)
	for i, place := range places {
		at[i] = p.x.at(place)
		axis.segment(at[i], panelBottom, at[i], panelBottom+4)
	}
	c.path("axis", &axis)
	for i, shown := range thin(at, tickGap) {
		if shown {
			c.text("num mid", at[i], placeTick, Number(places[i]))
		}
	}
	c.text("mid", (p.x.start+p.x.end)/2, placeLine, p.Axis)
}

// labels returns the heights of the middles of the labels, each at the end of its line if there is room.
func (p placed) labels() []float64 {
	ends := make([]float64, len(p.Lines))
	for i, l := range p.Lines {
		_, ends[i] = p.at(l.Points[len(l.Points)-1])
	}
	return spread(ends, labelGap, panelTop+labelInset, panelBottom-labelInset)
}

// drawLine draws a line, its marks and its label, which is the name above the last value. If the
// label is not at the end of the line, a thin line leads there.
func (p placed) drawLine(c *canvas, l Line, label float64) {
	c.put(`<g class="%s">`, classOf(l.Name))
	last := l.Points[len(l.Points)-1]
	endX, endY := p.at(last)
	if endX < p.x.end || math.Abs(label-endY) > baseline {
		var lead outline
		lead.segment(endX, endY, p.x.end+labelSpace-3, label)
		c.path("lead", &lead)
	}
	var line, spread outline
	command := "M"
	for _, point := range l.Points {
		x, y := p.at(point)
		line.step(command, x, y)
		command = "L"
		if point.Low < point.High {
			spread.segment(x, p.y.at(point.Low), x, p.y.at(point.High))
		}
	}
	if spread.Len() > 0 {
		c.path("range", &spread)
	}
	c.path("line", &line)
	for _, point := range l.Points {
		x, y := p.at(point)
		c.put(`<use href="#%s" x="%s" y="%s"/>`, classOf(l.Name), coord(x), coord(y))
	}
	c.text("name", p.x.end+labelSpace, label-nameRise, l.Name)
	c.text("num", p.x.end+labelSpace, label+valueDrop, p.Format(rounded(last.Value)))
	c.put("</g>")
}

// at returns the place of a point.
func (p placed) at(point Point) (x, y float64) {
	return p.x.at(point.At), p.y.at(point.Value)
}
