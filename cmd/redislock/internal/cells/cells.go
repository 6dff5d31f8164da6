// Package cells fits texts into the columns of a terminal.
package cells

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// A glyph is a character together with the marks on it, which share its columns.
type glyph struct {
	text  string
	width int
}

// mostMarks is how many marks a character keeps. Some texts have hundreds of them, to disturb others.
const mostMarks = 4

// glyphs splits a text. What could move the cursor of a terminal becomes a question mark, as does what is no text.
func glyphs(text string) []glyph {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, text)
	list := make([]glyph, 0, len(text))
	for text != "" {
		if len(text) == 1 || text[0] < utf8.RuneSelf && text[1] < utf8.RuneSelf { // nothing can stand on it
			list, text = append(list, glyph{text[:1], 1}), text[1:]
			continue
		}
		var g glyph
		g.text, text, g.width, _ = uniseg.FirstGraphemeClusterInString(text, -1)
		if g.width == 0 { // a mark on nothing
			g = glyph{" " + g.text, 1}
		}
		if runes := []rune(g.text); len(runes) > 1+mostMarks {
			g.text = string(runes[:1+mostMarks])
		}
		list = append(list, g)
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
func Short(text string, width int) string { return short(text, width, width/2) }

// Head returns a text that takes at most this many columns: if the text is longer, its end is left out.
func Head(text string, width int) string { return short(text, width, width-1) }

// short keeps so many columns before the cut, and behind it what else there is room for.
func short(text string, width, before int) string {
	list := glyphs(text)
	if widthOf(list) <= width {
		return join(list)
	}
	if width < 1 {
		return ""
	}
	from, left := len(list), width-1-before
	for from > 0 && list[from-1].width <= left {
		from--
		left -= list[from].width
	}
	return join(first(list, before)) + cut + join(list[from:])
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

// Fit returns a text that takes exactly this many columns: [Short], and then [Pad].
func Fit(text string, width int, right bool) string { return Pad(Short(text, width), width, right) }

// Pad puts spaces behind a text that takes fewer columns than this, or before it if it is to stand on the right.
func Pad(text string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-Width(text)))
	if right {
		return space + text
	}
	return text + space
}
