// Package cells is a screen of characters in columns and lines, and what a terminal has to be told so that it shows
// another one.
package cells

import "strings"

// A Style is how a cell looks: a colour, and any of Bold, Dim and Reverse.
type Style uint8

// The styles.
const (
	Bold Style = 1 << iota
	Dim
	Reverse
	Red
	Green
	Yellow
	Cyan
)

// colours are the styles that NO_COLOR is about.
const colours = Red | Green | Yellow | Cyan

// Plain returns the style without its colour.
func (s Style) Plain() Style { return s &^ colours }

// A Cell is one column of one line. Its Text is one character with the marks on it; it is empty if the cell is the right half of
// a wide character.
type Cell struct {
	Text  string
	Style Style
}

var blank = Cell{Text: " "}

// A Screen is lines of cells. A position outside of it can be written to, and is not shown.
type Screen struct {
	Width, Height int
	cells         []Cell
}

// most is how many columns or lines a screen has: more is no terminal but an error.
const most = 2000

// New makes an empty screen.
func New(width, height int) *Screen {
	width, height = min(max(width, 0), most), min(max(height, 0), most)
	s := &Screen{width, height, make([]Cell, width*height)}
	for i := range s.cells {
		s.cells[i] = blank
	}
	return s
}

// At returns a cell.
func (s *Screen) At(x, y int) Cell {
	if !s.has(x, y) {
		return blank
	}
	return s.cells[y*s.Width+x]
}

func (s *Screen) has(x, y int) bool { return x >= 0 && y >= 0 && x < s.Width && y < s.Height }

// Put writes a text from a cell on, as far as its line goes, and returns the column behind it. It writes no half of a wide
// character, and leaves none.
func (s *Screen) Put(x, y int, style Style, text string) int {
	for _, g := range glyphs(text) {
		switch {
		case x >= s.Width:
			return x
		case g.width == 1:
			s.set(x, y, Cell{g.text, style})
		case s.has(x, y) && s.has(x+1, y):
			s.set(x, y, blank)
			s.set(x+1, y, blank)
			s.cells[y*s.Width+x] = Cell{g.text, style}
			s.cells[y*s.Width+x+1] = Cell{"", style}
		default:
			s.set(x, y, Cell{" ", style})
			s.set(x+1, y, Cell{" ", style})
		}
		x += g.width
	}
	return x
}

// set replaces a cell. The other half of a wide character becomes a space.
func (s *Screen) set(x, y int, c Cell) {
	if !s.has(x, y) {
		return
	}
	if s.At(x, y).Text == "" {
		s.cells[y*s.Width+x-1].Text = " "
	} else if s.isWide(x, y) {
		s.cells[y*s.Width+x+1].Text = " "
	}
	s.cells[y*s.Width+x] = c
}

// isWide reports whether the left half of a wide character stands there.
func (s *Screen) isWide(x, y int) bool { return s.At(x, y).Text != "" && s.At(x+1, y).Text == "" }

// Fill gives the rest of a line a style, without changing its text.
func (s *Screen) Fill(x, y int, style Style) {
	for ; s.has(x, y); x++ {
		s.cells[y*s.Width+x].Style = style
	}
}

// String returns the lines of the screen without what is blank at their ends.
func (s *Screen) String() string {
	var b strings.Builder
	for y := range s.Height {
		var line strings.Builder
		for x := range s.Width {
			line.WriteString(s.At(x, y).Text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
