package cells

import (
	"slices"
	"strings"
	"unicode"
)

// A span is characters of one kind, from the first to the last.
type span struct{ first, last rune }

// wide are the characters that take two columns: those that Unicode calls wide or fullwidth, in order. Where some in between are
// not, a column stays empty; Diff sees to it that what follows stands where it should.
var wide = []span{
	{0x1100, 0x115f},
	{0x231a, 0x231b},
	{0x2329, 0x232a},
	{0x23e9, 0x23ec},
	{0x23f0, 0x23f0},
	{0x23f3, 0x23f3},
	{0x25fd, 0x25fe},
	{0x2614, 0x2615},
	{0x2648, 0x2653},
	{0x267f, 0x267f},
	{0x2693, 0x2693},
	{0x26a1, 0x26a1},
	{0x26aa, 0x26ab},
	{0x26bd, 0x26be},
	{0x26c4, 0x26c5},
	{0x26ce, 0x26ce},
	{0x26d4, 0x26d4},
	{0x26ea, 0x26ea},
	{0x26f2, 0x26f3},
	{0x26f5, 0x26f5},
	{0x26fa, 0x26fa},
	{0x26fd, 0x26fd},
	{0x2705, 0x2705},
	{0x270a, 0x270b},
	{0x2728, 0x2728},
	{0x274c, 0x274c},
	{0x274e, 0x274e},
	{0x2753, 0x2755},
	{0x2757, 0x2757},
	{0x2795, 0x2797},
	{0x27b0, 0x27b0},
	{0x27bf, 0x27bf},
	{0x2b1b, 0x2b1c},
	{0x2b50, 0x2b50},
	{0x2b55, 0x2b55},
	{0x2e80, 0x303e},
	{0x3041, 0x4dbf},
	{0x4e00, 0xa4cf},
	{0xa960, 0xa97f},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfe10, 0xfe19},
	{0xfe30, 0xfe6f},
	{0xff01, 0xff60},
	{0xffe0, 0xffe6},
	{0x16fe0, 0x18d08},
	{0x1aff0, 0x1b2ff},
	{0x1f004, 0x1f004},
	{0x1f0cf, 0x1f0cf},
	{0x1f18e, 0x1f18e},
	{0x1f191, 0x1f19a},
	{0x1f200, 0x1f320},
	{0x1f32d, 0x1f335},
	{0x1f337, 0x1f37c},
	{0x1f37e, 0x1f393},
	{0x1f3a0, 0x1f64f},
	{0x1f680, 0x1f6fc},
	{0x1f7e0, 0x1f7f0},
	{0x1f90c, 0x1f9ff},
	{0x1fa70, 0x1faff},
	{0x20000, 0x3fffd},
}

// runeWidth returns how many columns a character takes: 0, 1 or 2.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1160 && r <= 0x11ff:
		return 0
	}
	_, found := slices.BinarySearchFunc(wide, r, func(s span, r rune) int {
		switch {
		case s.last < r:
			return -1
		case s.first > r:
			return 1
		}
		return 0
	})
	if found {
		return 2
	}
	return 1
}

// A glyph is a character together with the marks on it, which share its columns.
type glyph struct {
	text  string
	width int
}

// mostMarks is how many marks a character keeps. Some texts have hundreds of them, to disturb others.
const mostMarks = 4

// glyphs splits a text. What could move the cursor of a terminal becomes a question mark, as does what is no text.
func glyphs(text string) []glyph {
	list := make([]glyph, 0, len(text))
	marks := 0
	for _, r := range text {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			r = '?'
		}
		width := runeWidth(r)
		if width > 0 {
			list, marks = append(list, glyph{string(r), width}), 0
			continue
		}
		if len(list) == 0 {
			list = append(list, glyph{" ", 1}) // a mark on nothing
		}
		if marks++; marks <= mostMarks {
			list[len(list)-1].text += string(r)
		}
	}
	return list
}

func widthOf(list []glyph) int {
	n := 0
	for _, g := range list {
		n += g.width
	}
	return n
}

// Width returns how many columns a text takes.
func Width(text string) int { return widthOf(glyphs(text)) }

// cut stands for what was left out of a text.
const cut = "…"

// Short returns a text that takes at most this many columns: if the text is longer, its middle is left out.
func Short(text string, width int) string {
	list := glyphs(text)
	if widthOf(list) <= width {
		return join(list)
	}
	if width < 1 {
		return ""
	}
	head := first(list, width/2)
	from, left := len(list), width-1-width/2
	for from > 0 && list[from-1].width <= left {
		from--
		left -= list[from].width
	}
	return join(head) + cut + join(list[from:])
}

// Head returns a text that takes at most this many columns: if the text is longer, its end is left out.
func Head(text string, width int) string {
	list := glyphs(text)
	if widthOf(list) <= width {
		return join(list)
	}
	if width < 1 {
		return ""
	}
	return join(first(list, width-1)) + cut
}

// first returns as many glyphs as fit.
func first(list []glyph, width int) []glyph {
	for i, g := range list {
		if width -= g.width; width < 0 {
			return list[:i]
		}
	}
	return list
}

func join(list []glyph) string {
	var b strings.Builder
	for _, g := range list {
		b.WriteString(g.text)
	}
	return b.String()
}

// Fit returns a text that takes exactly this many columns: [Short], with spaces behind it, or before it if it is to stand on the
// right.
func Fit(text string, width int, right bool) string {
	text = Short(text, width)
	space := strings.Repeat(" ", max(0, width-Width(text)))
	if right {
		return space + text
	}
	return text + space
}
