package page

import (
	"path"
	"regexp"
	"strings"
)

// Promises returns what a README says is guaranteed, and what is not, as quotations of it should read: each item of the list,
// each paragraph, and each row of the table as a list of its cells.
func Promises(readme string) []string {
	return append(passages(readme, "What is guaranteed"), passages(readme, "What is not")...)
}

// passages are the items, the paragraphs and the rows of a section.
func passages(readme, wanted string) (found []string) {
	section := ""
	for _, block := range blocks(readme) {
		if title, ok := strings.CutPrefix(block[0], "#"); ok {
			section = strings.TrimLeft(title, "# ")
			continue
		}
		if section != wanted {
			continue
		}
		switch first := block[0]; {
		case strings.HasPrefix(first, "- "):
			found = append(found, items(block)...)
		case strings.HasPrefix(first, "|"):
			t := readTable(section, block)
			for _, row := range t.Rows {
				found = append(found, listed(t.Head, row.Cells))
			}
		default:
			found = append(found, strings.Join(strings.Fields(strings.Join(block, " ")), " "))
		}
	}
	return found
}

var (
	heading  = regexp.MustCompile(`^\*\*[^*]+\.\*\* `)
	linkOnly = regexp.MustCompile(`^\[[^\]]*\]\([^)]*\)\.?$`)
)

// Sentences returns each sentence of what a README says is guaranteed, as it stands there. What is bold at the beginning of an
// item is no sentence if it has a full stop of its own: it is a heading. A link by itself is none either.
func Sentences(readme string) (found []string) {
	for _, text := range passages(readme, "What is guaranteed") {
		for _, s := range split(heading.ReplaceAllString(text, "")) {
			if !linkOnly.MatchString(s) {
				found = append(found, s)
			}
		}
	}
	return found
}

// split divides a text behind each full stop that a space follows, unless that is code.
func split(text string) (found []string) {
	from, code := 0, false
	for i := range text {
		if text[i] == '`' {
			code = !code
		}
		if !code && strings.HasPrefix(text[i:], ". ") {
			found = append(found, text[from:i+1])
			from = i + 2
		}
	}
	return append(found, text[from:])
}

// listed is a row of a table as a list: of each cell the head and the text.
func listed(head, row []string) string {
	var parts []string
	for i, text := range row {
		parts = append(parts, "- *"+head[i]+":* "+text)
	}
	return strings.Join(parts, " ")
}

var link = regexp.MustCompile(`\]\(([^)\s#]*)([^)\s]*)\)`)

// FromRoot returns a text of a page with links as they would be in a page of the root folder.
func FromRoot(text, page string) string {
	return link.ReplaceAllStringFunc(text, func(found string) string {
		m := link.FindStringSubmatch(found)
		switch {
		case strings.Contains(m[1], "://"):
			return found
		case m[1] == "":
			return "](" + page + m[2] + ")"
		}
		return "](" + path.Join(path.Dir(page), m[1]) + m[2] + ")"
	})
}
