// Package page reads docs/proof.md and proof/evidence.md, which say of each promise, fault and bug what proves it, and
// test/promises.md, which does so for the quick suite.
//
// A page is prose for its readers. What is read of it:
//
//   - a quotation, which has the words of the README;
//   - behind a quotation the items Models, Tests, By hand and Campaign;
//   - every table whose rows name tests;
//   - in all of these a test, as code: its folder and its name, as in `proof/test/line TestQueue`. A name alone is in the folder
//     of the test before it in the same item or cell. Subtests follow as go test shows them: `proof/test/lease TestConvert/upgrade`.
//
// What stands in an item By hand, or in a column of that name, is run by hand; every other test is run by
// `make test-all`, or by `make test` if the page is that of the quick suite.
package page

import (
	"regexp"
	"strings"
)

// A Test is one that the page names.
type Test struct {
	Folder string // of the package, from the root of the repository; "." is the root
	Name   string
}

func (t Test) String() string { return t.Folder + " " + t.Name }

// A Promise is a quotation of the README, and what proves it.
type Promise struct {
	Text   string // in one line
	Models []string
	Checks []string // of the campaign
	Tests  []Test
	ByHand []Test
}

// A Table is one of the page.
type Table struct {
	Section string // its heading
	Head    []string
	Rows    []Row
}

// A Row has the text of each cell, and the tests that they name.
type Row struct {
	Cells  []string
	Tests  []Test
	ByHand []Test
}

// A Page is what was read.
type Page struct {
	Promises []Promise
	Tables   []Table
}

// Read reads a page.
func Read(text string) *Page {
	p := &Page{}
	section := ""
	for _, block := range blocks(text) {
		switch first := block[0]; {
		case strings.HasPrefix(first, "#"):
			section = strings.TrimSpace(strings.TrimLeft(first, "#"))
		case strings.HasPrefix(first, ">"):
			p.Promises = append(p.Promises, Promise{Text: quoted(block)})
		case strings.HasPrefix(first, "|"):
			p.Tables = append(p.Tables, readTable(section, block))
		case strings.HasPrefix(first, "- ") && len(p.Promises) > 0:
			p.Promises[len(p.Promises)-1].read(items(block))
		}
	}
	return p
}

// Tests returns the tests that every run has, and those that are run by hand, each once.
func (p *Page) Tests() (asked, byHand []Test) {
	for _, promise := range p.Promises {
		asked, byHand = append(asked, promise.Tests...), append(byHand, promise.ByHand...)
	}
	for _, table := range p.Tables {
		for _, row := range table.Rows {
			asked, byHand = append(asked, row.Tests...), append(byHand, row.ByHand...)
		}
	}
	return once(asked), once(byHand)
}

func once(tests []Test) (each []Test) {
	seen := map[Test]bool{}
	for _, t := range tests {
		if !seen[t] {
			seen[t] = true
			each = append(each, t)
		}
	}
	return each
}

// blocks are the parts of a text between blank lines.
func blocks(text string) (found [][]string) {
	var block []string
	for line := range strings.Lines(text + "\n\n") {
		if line = strings.TrimRight(line, " \n"); line != "" {
			block = append(block, line)
			continue
		}
		if block != nil {
			found = append(found, block)
		}
		block = nil
	}
	return found
}

func quoted(block []string) string {
	var words []string
	for _, line := range block {
		words = append(words, strings.Fields(strings.TrimPrefix(line, ">"))...)
	}
	return strings.Join(words, " ")
}

// items are those of a list, each in one line.
func items(block []string) (found []string) {
	for _, line := range block {
		if text, ok := strings.CutPrefix(line, "- "); ok {
			found = append(found, text)
		} else {
			found[len(found)-1] += " " + strings.TrimSpace(line)
		}
	}
	return found
}

func (p *Promise) read(items []string) {
	for _, item := range items {
		name, text, _ := strings.Cut(item, ":")
		switch name {
		case "Models":
			p.Models = append(p.Models, codes(text)...)
		case "Campaign":
			p.Checks = append(p.Checks, codes(text)...)
		case "Tests":
			p.Tests = append(p.Tests, tests(text)...)
		case "By hand":
			p.ByHand = append(p.ByHand, tests(text)...)
		}
	}
}

func readTable(section string, block []string) Table {
	t := Table{Section: section, Head: cells(block[0])}
	for _, line := range block[min(2, len(block)):] {
		row := Row{Cells: cells(line)}
		for i, cell := range row.Cells {
			if i < len(t.Head) && strings.HasPrefix(t.Head[i], "by hand") {
				row.ByHand = append(row.ByHand, tests(cell)...)
			} else {
				row.Tests = append(row.Tests, tests(cell)...)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func cells(line string) (found []string) {
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		found = append(found, strings.TrimSpace(cell))
	}
	return found
}

var code = regexp.MustCompile("`([^`]+)`")

// codes are what stands in a text as code.
func codes(text string) (found []string) {
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

var test = regexp.MustCompile(`^(?:(\S+) )?(Test\S*)$`)

func tests(text string) (found []Test) {
	folder := ""
	for _, text := range codes(text) {
		if m := test.FindStringSubmatch(text); m != nil {
			if m[1] != "" {
				folder = m[1]
			}
			found = append(found, Test{folder, m[2]})
		}
	}
	return found
}
