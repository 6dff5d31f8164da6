package proof

import (
	"path"
	"regexp"
	"strings"
)

// Promises returns what a README says is guaranteed, and what is not, as quotations of it should read: each item of the list,
// each paragraph, and each row of the table as a list of its cells.
func Promises(readme string) (found []string) {
	section := ""
	for _, block := range blocks(readme) {
		if title, ok := strings.CutPrefix(block[0], "#"); ok {
			section = strings.TrimLeft(title, "# ")
			continue
		}
		if section != "What is guaranteed" && section != "What is not" {
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
