// Package page writes what was measured into a page of the manual.
package page

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A Part is what stands between two marks of a page: <!-- compare NAME --> and <!-- /compare NAME -->.
type Part struct{ Name, Text string }

// Rewrite puts parts between their marks and leaves the rest of the file as it is. If a mark is
// missing it changes nothing.
func Rewrite(file string, parts []Part) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page := string(text)
	for _, p := range parts {
		if page, err = p.Into(page); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

// Into returns the page with the part in its place.
func (p Part) Into(page string) (string, error) {
	begin, end := "<!-- compare "+p.Name+" -->\n", "<!-- /compare "+p.Name+" -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		return "", fmt.Errorf("no %s with its end", strings.TrimSpace(begin))
	}
	return before + begin + p.Text + end + after, nil
}

// A Count is how many limits there are, how many of them do not hold, and of how many there is no conclusion.
type Count struct{ All, Broken, Open int }

// Text says in one line what became of the limits, which are called what; in front of a table of those that do not hold, if there
// are some. It has no line for each without a conclusion: on a busy machine there are many.
func (c Count) Text(what, table string) string {
	text := fmt.Sprintf("Of %d %s %d hold", c.All, what, c.All-c.Broken-c.Open)
	if c.Broken+c.Open == 0 {
		text = fmt.Sprintf("All of %d %s hold", c.All, what)
	}
	if c.Open > 0 {
		text += fmt.Sprintf(", and of %d there is no conclusion", c.Open)
	}
	if c.Broken == 0 {
		return text + ".\n"
	}
	return text + ". These do not hold:\n\n" + table
}

var (
	generated = regexp.MustCompile(`(?s)<!-- (compare [a-z ]+) -->\n.*?<!-- /compare [a-z ]+ -->`)
	// A figure is a number with the unit of something that is measured.
	figure = regexp.MustCompile(`\d[\d .,]*(?:×|%|[nµm]?s\b|bytes|[KMG]i?B\b|G?M?bit|allocations|(?:server )?commands|round trips|times as|a second|/s\b)`)
)

// Figures are the numbers with the unit of something that is measured which stand outside of all parts, without settings, which
// nobody has measured.
func Figures(page string, settings ...string) []string {
	found := figure.FindAllString(generated.ReplaceAllString(page, ""), -1)
	return slices.DeleteFunc(found, func(f string) bool { return slices.Contains(settings, strings.TrimSpace(f)) })
}
