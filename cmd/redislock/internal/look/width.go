package look

import "unicode"

// cells is how many columns of a terminal a text takes.
func cells(text string) (n int) {
	for _, r := range text {
		n += cellsOf(r)
	}
	return n
}

// cellsOf is 0 for what is put on top of the character before it, 2 for the characters of East Asia and for emoji.
func cellsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// cut takes away the end of a text that is too long, and says so with an ellipsis.
func cut(text string, width int) string {
	if width <= 0 || cells(text) <= width {
		return text
	}
	n := 0
	for i, r := range text {
		if n += cellsOf(r); n > width-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// squeeze takes away the middle of a text that is too long: the ends of keys tell them apart.
func squeeze(text string, width int) string {
	if width <= 0 || cells(text) <= width {
		return text
	}
	runes, tail, n := []rune(text), 0, 0
	for tail < len(runes) && n+cellsOf(runes[len(runes)-1-tail]) <= (width-1)/2 {
		n += cellsOf(runes[len(runes)-1-tail])
		tail++
	}
	front := cut(string(runes), width-n)
	return front + string(runes[len(runes)-tail:])
}
