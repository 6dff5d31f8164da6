package cells

import (
	"strconv"
	"strings"
)

// Diff returns what a terminal that shows one screen has to be told so that it shows another. With nil, or a screen of another
// size, it is told everything.
//
// Terminals do not agree about how wide some characters are. So Diff never relies on where the cursor is behind a character
// that is not ASCII: before it goes on with ASCII it says where.
func Diff(before, after *Screen) string {
	d := &differ{after: after, y: -1}
	if before == nil || before.Width != after.Width || before.Height != after.Height {
		before = New(after.Width, after.Height)
		d.b.WriteString("\x1b[0m\x1b[2J")
	}
	for y := range after.Height {
		d.line(before, y)
	}
	if d.style != 0 {
		d.b.WriteString("\x1b[0m")
	}
	return d.b.String()
}

// A differ writes what a terminal is told.
type differ struct {
	b     strings.Builder
	after *Screen
	x, y  int  // where the cursor is
	sure  bool // whatever the terminal takes for the width of what was written
	style Style
}

// line brings one line up to date.
func (d *differ) line(before *Screen, y int) {
	dirty, end := d.changes(before, y)
	for x := range end {
		if c := d.after.At(x, y); dirty[x] && c.Text != "" {
			d.write(x, y, c)
		}
	}
	if end < d.after.Width {
		d.moveTo(end, y)
		d.setStyle(0)
		d.b.WriteString("\x1b[K")
	}
}

// changes returns which cells of a line have changed. A wide character changes as a whole. Behind end everything is to be erased.
func (d *differ) changes(before *Screen, y int) (dirty []bool, end int) {
	after := d.after
	dirty = make([]bool, after.Width)
	changed := 0 // behind it nothing has
	for x := range dirty {
		if dirty[x] = before.At(x, y) != after.At(x, y); dirty[x] {
			changed = x + 1
		}
	}
	isPair := func(x int) bool { return before.isWide(x, y) || after.isWide(x, y) }
	for x := range len(dirty) - 1 { // to the right
		if isPair(x) && dirty[x] {
			dirty[x+1] = true
		}
	}
	for x := len(dirty) - 2; x >= 0; x-- { // and to the left
		if isPair(x) && dirty[x+1] {
			dirty[x] = true
		}
	}
	end = after.Width
	for end > 0 && after.At(end-1, y) == blank {
		end--
	}
	if changed < end+4 { // a few spaces are shorter than to erase
		end = after.Width
	}
	return dirty, end
}

// write shows one cell.
func (d *differ) write(x, y int, c Cell) {
	isASCII := len(c.Text) == 1
	if d.x != x || d.y != y || isASCII && !d.sure {
		d.moveTo(x, y)
	}
	d.setStyle(c.Style)
	d.b.WriteString(c.Text)
	d.sure = d.sure && isASCII
	if d.x++; d.after.isWide(x, y) {
		d.x++
	}
}

// moveTo says where the cursor is to be.
func (d *differ) moveTo(x, y int) {
	switch column := strconv.Itoa(x + 1); {
	case d.y == y && d.sure && d.x == x:
	case d.y == y:
		d.b.WriteString("\x1b[" + column + "G")
	default:
		d.b.WriteString("\x1b[" + strconv.Itoa(y+1) + ";" + column + "H")
	}
	d.x, d.y, d.sure = x, y, true
}

// attributes are what a terminal calls the styles.
var attributes = []struct {
	style Style
	code  string
}{{Bold, "1"}, {Dim, "2"}, {Reverse, "7"}, {Red, "31"}, {Green, "32"}, {Yellow, "33"}, {Cyan, "36"}}

// setStyle says how what follows is to look.
func (d *differ) setStyle(style Style) {
	if d.style == style {
		return
	}
	d.style = style
	d.b.WriteString("\x1b[0")
	for _, a := range attributes {
		if style&a.style != 0 {
			d.b.WriteString(";" + a.code)
		}
	}
	d.b.WriteString("m")
}
