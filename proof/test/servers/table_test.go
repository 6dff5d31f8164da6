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
	but   = "all but " // what has failed follows
	never = "not tried"
)

// A table is that of the page.
type table struct {
	before, after string // of the page
	rows          map[string]row
}

// A row is what the page says of one server. A way that is not in it works.
type row struct {
	tried string            // by whom
	ways  map[string]string // over which something is wrong, and what
}

func readTable(t *testing.T) *table {
	t.Helper()
	page := string(check.Must[[]byte](t)(os.ReadFile(pagePath)))
	before, rest, begins := strings.Cut(page, tableBegin)
	text, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s has no table of servers", pagePath)
	}
	p := &table{before + tableBegin, tableEnd + after, map[string]row{}}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[min(2, len(lines)):] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 3 {
			t.Fatalf("%s: %q has %d columns", pagePath, line, len(cells))
		}
		r := row{cells[1], map[string]string{}}
		if cells[2] != works {
			for item := range strings.SplitSeq(cells[2], "; ") {
				way, what, _ := strings.Cut(item, ": ")
				r.ways[way] = what
			}
		}
		p.rows[cells[0]] = r
	}
	return p
}

// expected are the scenarios that fail, as the page says. Of a server that it does not name it says that all work.
func (p *table) expected(s *server, w way) map[string]bool {
	failing := map[string]bool{}
	if list, some := strings.CutPrefix(p.rows[s.row()].ways[w.name], but); some {
		for name := range strings.SplitSeq(list, ", ") {
			failing[name] = true
		}
	}
	return failing
}

// note puts what was found into the table. The rows of other servers stay.
func (p *table) note(all *findings) {
	for name, f := range all.rows {
		r := row{"by every build", map[string]string{}}
		if f.byHand {
			r.tried = "by hand, " + time.Now().Format("January 2006")
		}
		for _, w := range ways {
			if failed, tried := f.failed[w.name]; !tried {
				r.ways[w.name] = never
			} else if len(failed) > 0 {
				r.ways[w.name] = but + strings.Join(failed, ", ")
			}
		}
		p.rows[name] = r
	}
}

func (p *table) write(t *testing.T) {
	t.Helper()
	check.NoError(t, os.WriteFile(pagePath, []byte(p.before+p.text()+p.after), 0o644)) //nolint:gosec // a page that all may read
}

func (p *table) text() string {
	var b strings.Builder
	b.WriteString("| server | tried | what works |\n|---|---|---|\n")
	for _, name := range slices.SortedFunc(maps.Keys(p.rows), byVersion) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, p.rows[name].tried, p.rows[name])
	}
	return b.String()
}

// String is what works, in the order of the ways.
func (r row) String() string {
	var items []string
	for _, w := range ways {
		if what := r.ways[w.name]; what != "" {
			items = append(items, w.name+": "+what)
		}
	}
	if items == nil {
		return works
	}
	return strings.Join(items, "; ")
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

// What was found is read from the page as it was written, and the page is as it would be written.
func TestTable(t *testing.T) {
	t.Parallel()
	p := readTable(t)
	if page := string(check.Must[[]byte](t)(os.ReadFile(pagePath))); p.before+p.text()+p.after != page {
		t.Errorf("%s would be written otherwise:\n%s", pagePath, p.text())
	}
	p.rows = map[string]row{}
	f := &found{failed: map[string][]string{}}
	for _, w := range ways[1:] {
		f.failed[w.name] = nil
	}
	f.failed[ways[1].name] = []string{"sets", "Leave"}
	p.note(&findings{rows: map[string]*found{"Redis 9.9": f}})
	want := "| server | tried | what works |\n|---|---|---|\n| Redis 9.9 | by every build | " +
		ways[0].name + ": not tried; " + ways[1].name + ": all but sets, Leave |\n"
	if got := p.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The page names the ways in the words of this package.
func TestPageNamesWays(t *testing.T) {
	t.Parallel()
	page := strings.Join(strings.Fields(string(check.Must[[]byte](t)(os.ReadFile(pagePath)))), " ")
	for _, w := range ways {
		if !strings.Contains(page, w.name) {
			t.Errorf("%s does not name the way %q", pagePath, w.name)
		}
	}
}
