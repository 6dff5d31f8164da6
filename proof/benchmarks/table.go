package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// A table is a list of lines, of which the first is the head.
type table [][]string

// text is the table in columns.
func (t table) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range t {
		_, _ = fmt.Fprintln(w, "  "+strings.Join(line, "\t"))
	}
	_ = w.Flush() // a Builder does not fail
	return b.String()
}

// markdown is the table as a page has it.
func (t table) markdown() string {
	var b strings.Builder
	for i, line := range t {
		_, _ = fmt.Fprintln(&b, "| "+strings.Join(line, " | ")+" |")
		if i == 0 {
			_, _ = fmt.Fprintln(&b, "|"+strings.Repeat("---|", len(line)))
		}
	}
	return b.String()
}
