package servers_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
)

const (
	pagePath   = "../../../docs/operating.md"
	tableBegin = "<!-- servers: made by make servers -->\n"
	tableEnd   = "<!-- end of servers -->\n"

	works = "all"
	but   = "all but "
	never = "–"
)

// A table is that of the page: row → column → cell.
type table struct {
	before, after string // of the page
	rows          map[string]map[string]string
}

// columns are the names of the columns behind that of the server.
func columns() []string {
	names := []string{"tried"}
	for _, w := range ways {
		names = append(names, w.name)
	}
	return names
}

func readTable(t *testing.T) *table {
	t.Helper()
	page := string(check.Must[[]byte](t)(os.ReadFile(pagePath)))
	before, rest, begins := strings.Cut(page, tableBegin)
	text, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s has no table of servers", pagePath)
	}
	p := &table{before + tableBegin, tableEnd + after, map[string]map[string]string{}}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[min(2, len(lines)):] {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if len(cells) != len(columns())+1 {
			t.Fatalf("%s: %q has %d columns", pagePath, line, len(cells))
		}
		row := map[string]string{}
		for i, name := range columns() {
			row[name] = strings.TrimSpace(cells[i+1])
		}
		p.rows[strings.TrimSpace(cells[0])] = row
	}
	return p
}

// expected are the scenarios that fail, as the page says. Of a server that it does not name it says that all work.
func (p *table) expected(s *server, w way) map[string]bool {
	failing := map[string]bool{}
	if list, some := strings.CutPrefix(p.rows[s.row()][w.name], but); some {
		for name := range strings.SplitSeq(list, ", ") {
			failing[name] = true
		}
	}
	return failing
}

// write puts what was found into the page. The rows of other servers stay.
func (p *table) write(t *testing.T, all *findings) {
	t.Helper()
	for name, f := range all.rows {
		row := map[string]string{"tried": "by every build"}
		if f.byHand {
			row["tried"] = "by hand, " + time.Now().Format("January 2006")
		}
		for _, w := range ways {
			failed, tried := f.failed[w.name]
			switch {
			case !tried:
				row[w.name] = never
			case len(failed) == 0:
				row[w.name] = works
			default:
				row[w.name] = but + strings.Join(failed, ", ")
			}
		}
		p.rows[name] = row
	}
	check.NoError(t, os.WriteFile(pagePath, []byte(p.before+p.text()+p.after), 0o644)) //nolint:gosec // a page that all may read
}

func (p *table) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| server | %s |\n|%s\n", strings.Join(columns(), " | "), strings.Repeat("---|", len(columns())+1))
	for _, name := range slices.SortedFunc(maps.Keys(p.rows), byVersion) {
		b.WriteString("| " + name)
		for _, column := range columns() {
			b.WriteString(" | " + p.rows[name][column])
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// byVersion compares names such as "Redis 7.0": by product, then by number.
func byVersion(a, b string) int {
	productA, versionA, _ := strings.Cut(a, " ")
	productB, versionB, _ := strings.Cut(b, " ")
	order := []string{"Redis", "Valkey"}
	rank := func(product string) int {
		if i := slices.Index(order, product); i >= 0 {
			return i
		}
		return len(order)
	}
	if d := rank(productA) - rank(productB); d != 0 {
		return d
	}
	if d := strings.Compare(productA, productB); d != 0 {
		return d
	}
	return slices.Compare(numbers(versionA), numbers(versionB))
}

func numbers(version string) []int {
	var parts []int
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		parts = append(parts, n)
	}
	return parts
}

// The page names the scenarios in the words of this package.
func TestPageNamesScenarios(t *testing.T) {
	t.Parallel()
	page := strings.Join(strings.Fields(string(check.Must[[]byte](t)(os.ReadFile(pagePath)))), " ")
	var names []string
	for _, c := range scenarios {
		names = append(names, c.name)
	}
	if list := strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]; !strings.Contains(page, list) {
		t.Errorf("%s does not say: %s", pagePath, list)
	}
}
