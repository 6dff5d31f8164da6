package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// columns of the table, in this order.
var columns = []verdict{caught, survived, equivalent, uncovered, undecided}

// table counts what has become of mutants by package.
func table(out io.Writer, verdicts map[*defect]verdict, skips []skipped) error {
	count := map[string]map[verdict]int{}
	add := func(folder string, v verdict) {
		for _, in := range []string{folder, "sum"} {
			if count[in] == nil {
				count[in] = map[verdict]int{}
			}
			count[in][v]++
		}
	}
	for m, v := range verdicts {
		add(m.folder(), v)
	}
	for _, s := range skips {
		folder := (&defect{file: s.file}).folder()
		if count[folder] != nil {
			add(folder, notMade)
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	say(w, "package\tmade\tcaught\tsurvived\tequivalent\tnot covered\tleft\tnot made\t\n")
	folders := slices.DeleteFunc(slices.Sorted(maps.Keys(count)), func(f string) bool { return f == "sum" })
	for _, folder := range append(folders, "sum") {
		made, row := 0, ""
		for _, v := range columns {
			made += count[folder][v]
			row += fmt.Sprintf("%d\t", count[folder][v])
		}
		say(w, "%s\t%d\t%s%d\t\n", folder, made, row, count[folder][notMade])
	}
	if left := count["sum"][undecided]; left > 0 {
		say(w, "%d mutants are left: the time was over before it was known whether a test notices them\n", left)
	}
	return w.Flush()
}

// show writes a mutant: where it is, its hash, and the lines before and after.
func (l *library) show(out io.Writer, m *defect, v verdict) {
	say(out, "%s: %s  [%s]\n", v, m, m.hash)
	source, err := os.ReadFile(filepath.Join(l.root, m.file))
	if err != nil || m.end > len(source) {
		return // it was changed meanwhile
	}
	before, after := linesAround(string(source), m)
	say(out, "  - %s\n  + %s\n", before, after)
}

// linesAround are the lines in which a mutant is, as they are and as it makes them, each as one line.
func linesAround(source string, m *defect) (before, after string) {
	first := strings.LastIndexByte(source[:m.start], '\n') + 1
	last := len(source)
	if n := strings.IndexByte(source[m.end:], '\n'); n >= 0 {
		last = m.end + n
	}
	return short(source[first:last]), short(source[first:m.start] + m.text + source[m.end:last])
}

// short is a text in one line, which is not too long.
func short(text string) string {
	text = squeeze(text)
	if len(text) > 200 {
		text = text[:120] + " … " + text[len(text)-70:]
	}
	if text == "" {
		return "(nothing)"
	}
	return text
}

// reasons counts why defects were not made.
func reasons(out io.Writer, skips []skipped) {
	count := map[string]int{}
	for _, s := range skips {
		count[s.reason]++
	}
	for _, reason := range slices.Sorted(maps.Keys(count)) {
		say(out, "not made: %d: %s\n", count[reason], reason)
	}
}
