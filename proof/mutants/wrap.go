package main

import (
	"cmp"
	"slices"
	"strings"
)

// An edit puts text around a part of a file, or in place of it. None begins or ends a line, so that every line keeps its number.
type edit struct {
	start, end    int
	before, after string
	replaces      bool // before stands in place of what is there
	place         int  // -1 if it belongs to none
}

// A mark is text at one place of a file.
type mark struct {
	at, class, other, seq int
	text                  string
	skip                  int // bytes that it replaces
}

// Of the marks at one place those that close something come first, the innermost ahead; then those that stand by themselves;
// then those that open something, the outermost ahead.
const (
	closing = iota
	single
	opening
)

// apply makes the edits, of which the outer ones come first.
func apply(source []byte, edits []edit) string {
	marks := make([]mark, 0, 2*len(edits))
	for i, e := range edits {
		switch {
		case e.replaces:
			marks = append(marks, mark{at: e.start, class: opening, seq: i, text: e.before, skip: e.end - e.start})
		case e.start == e.end:
			marks = append(marks, mark{at: e.start, class: single, seq: i, text: e.before})
		default:
			marks = append(marks, mark{at: e.start, class: opening, other: -e.end, seq: i, text: e.before},
				mark{at: e.end, class: closing, other: -e.start, seq: -i, text: e.after})
		}
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		return cmp.Or(a.at-b.at, a.class-b.class, a.other-b.other, a.seq-b.seq)
	})
	var b strings.Builder
	at := 0
	for _, m := range marks {
		b.Write(source[at:m.at])
		b.WriteString(m.text)
		at = m.at + m.skip
	}
	b.Write(source[at:])
	return b.String()
}
