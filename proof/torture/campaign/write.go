package campaign

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// Text returns the report for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	for _, t := range r.tables() {
		b.WriteString("\n" + t.text())
	}
	b.WriteString("\n" + r.heading() + "\n")
	for _, line := range r.verdict() {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Markdown returns the report for a page.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Campaign\n\n%s\n", r.heading())
	for _, line := range r.verdict() {
		fmt.Fprintf(&b, "\n%s\n", line)
	}
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n## %s\n\n", t.title)
		for i, row := range t.rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
			}
		}
	}
	return b.String()
}

// text has the columns of a table stand below each other.
func (t table) text() string {
	width := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func sum[K comparable](counts map[K]int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}

// join writes names with commas.
func join[T ~string](names []T) string {
	var all []string
	for _, name := range names {
		all = append(all, string(name))
	}
	return strings.Join(all, ", ")
}

// chain goes through several sequences.
func chain[T any](all ...iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, seq := range all {
			for v := range seq {
				if !yield(v) {
					return
				}
			}
		}
	}
}
