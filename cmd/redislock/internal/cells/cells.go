// Package cells fits texts into the columns of a terminal.
package cells

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// mostMarks is how many marks a character keeps. Some texts have hundreds of them, to disturb others.
const mostMarks = 4

// glyphs splits a text into characters, each with the marks on it, and returns how many columns each takes. What could move the
// cursor of a terminal becomes a question mark, as does what is no text.
func glyphs(text string) (list []string, widths []int) {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, text)
	for text != "" {
		one, width := text[:1], 1
		if len(text) == 1 || text[0] < utf8.RuneSelf && text[1] < utf8.RuneSelf { // nothing can stand on it
			text = text[1:]
		} else {
			one, text, width, _ = uniseg.FirstGraphemeClusterInString(text, -1)
		}
		if width == 0 { // a mark on nothing
			one, width = " "+one, 1
		}
		if runes := []rune(one); len(one) > 1 && len(runes) > 1+mostMarks {
			one = string(runes[:1+mostMarks])
		}
		list, widths = append(list, one), append(widths, width)
	}
	return list, widths
}

func sum(widths []int) (columns int) {
	for _, width := range widths {
		columns += width
	}
	return columns
}

// Width returns how many columns a text takes.
func Width(text string) int {
	_, widths := glyphs(text)
	return sum(widths)
}

// cut stands for what was left out of a text.
const cut = "…"

// Short returns a text that takes at most this many columns: if the text is longer, its middle is left out.
func Short(text string, width int) string { return short(text, width, width/2) }

// Head returns a text that takes at most this many columns: if the text is longer, its end is left out.
func Head(text string, width int) string { return short(text, width, width-1) }

// short keeps so many columns before the cut, and behind it what else there is room for.
func short(text string, width, before int) string {
	list, widths := glyphs(text)
	switch {
	case sum(widths) <= width:
		return strings.Join(list, "")
	case width < 1:
		return ""
	}
	behind := width - 1 - before
	to, from := 0, len(list)
	for ; widths[to] <= before; to++ {
		before -= widths[to]
	}
	for ; widths[from-1] <= behind; from-- {
		behind -= widths[from-1]
	}
	return strings.Join(list[:to], "") + cut + strings.Join(list[from:], "")
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
