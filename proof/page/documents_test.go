package page

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

func content(t *testing.T, page string) string {
	t.Helper()
	return string(check.Must[[]byte](t)(os.ReadFile(page)))
}

// Who is new here reads these two to their ends.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	const most = 120
	for _, page := range []string{"README.md", "CONTRIBUTING.md"} {
		if got := strings.Count(content(t, page), "\n"); got > most {
			t.Errorf("%s has %d lines, want at most %d", page, got, most)
		}
	}
}

// Each Go block of the README and of docs stands under a comment that names an Example, and is its body without
// the start of the server and the output; or it names another function or type, with its methods, of a file of
// Examples. What stands in another folder is named with that, as election.ExampleElect; and a whole file by its path.
// So what the pages show compiles, and runs.
func TestReadmeShowsExamples(t *testing.T) {
	t.Parallel()
	shown := shownCode(t)
	marked := regexp.MustCompile("(?ms)^<!-- ([\\w./]+) -->\n```go\n(.*?)^```$")
	block := regexp.MustCompile("(?im)^[ \t>]*(```|~~~)[ \t]*(go|golang)\\b")
	found := 0
	for _, page := range pages(t) {
		text := content(t, page)
		blocks := marked.FindAllStringSubmatch(text, -1)
		if all := len(block.FindAllString(text, -1)); all != len(blocks) {
			t.Errorf("%s: %d of %d Go blocks stand directly under a comment with the name of what they show", page, len(blocks), all)
		}
		for _, m := range blocks {
			found++
			want, ok := shown[m[1]]
			if strings.Contains(m[1], "/") {
				want, ok = strings.TrimSpace(content(t, m[1])), true
			}
			if !ok {
				t.Errorf("%s: no file of Examples has %s, or it has no output and is not run", page, m[1])
				continue
			}
			if diff := cmp.Diff(want, dedent(m[2])); diff != "" {
				t.Errorf("%s: %s (-example +page):\n%s", page, m[1], diff)
			}
		}
	}
	if found == 0 {
		t.Fatal("no Go block is marked with its Example")
	}
}

// A link of a page to a file, or to a heading of it, leads somewhere.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		text := content(t, page)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			name, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(name, "://") {
				continue
			}
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s: %s has no heading #%s", page, target, anchor)
			}
		}
	}
}

// pages are the texts for users and contributors.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", ".github/SECURITY.md", "proof/CONTRIBUTING.md", "redislockotel/README.md"}
	return append(names, check.Must[[]string](t)(filepath.Glob("docs/*.md"))...)
}

// anchors are what the headings of a page are called in links.
func anchors(t *testing.T, page string) (names []string) {
	t.Helper()
	text := content(t, page)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

func TestDocsListRights(t *testing.T) {
	t.Parallel()
	page := content(t, "docs/rights.md")
	rule := regexp.MustCompile(`(?m)^ +ACL SETUSER .*\n(?: +[+~].*\n)+`).FindString(page)
	var got []string
	for _, m := range regexp.MustCompile(`\+(\S+)`).FindAllStringSubmatch(rule, -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(world.ACLCommands))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-needed +docs/rights.md):\n%s", diff)
	}
}

// What CONTRIBUTING.md lists is there, and it lists every source file of the root once. The files that a call passes are
// there, too.
func TestReadmeNamesParts(t *testing.T) {
	t.Parallel()
	section := func(title string) string {
		_, part, _ := strings.Cut(content(t, "CONTRIBUTING.md"), "\n## "+title+"\n")
		part, _, _ = strings.Cut(part, "\n## ")
		return part
	}
	named := func(text, pattern string) (names []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Error(err)
			}
			names = append(names, m[1])
		}
		if len(names) == 0 {
			t.Errorf("no %s in %.40q…", pattern, text)
		}
		return names
	}
	named(section("Where a call goes"), "`([a-z_/]+(?:\\.go|\\.lua|/[a-z]+))`")
	listed := map[string]int{}
	for _, line := range strings.Split(section("Where things are"), "\n") {
		if strings.HasPrefix(line, "    ") {
			for _, name := range named(line, `\s([a-z_./]+(?:\.go|\.lua|/))\s`) {
				listed[name]++
			}
		}
	}
	for _, file := range check.Must[[]os.DirEntry](t)(os.ReadDir(".")) {
		name := file.Name()
		source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".lua")
		if source && listed[name] == 0 {
			t.Errorf("%s is missing", name)
		}
	}
	for name, times := range listed {
		if times > 1 {
			t.Errorf("%s is listed %d times", name, times)
		}
	}
}

// shownCode is what a page may show, by name: of an Example that is run its body, of another function or type of a
// file of Examples its declaration, with the methods.
func shownCode(t *testing.T) map[string]string {
	t.Helper()
	shown := map[string]string{}
	names := check.Must[[]string](t)(filepath.Glob("example*_test.go"))
	names = append(names, check.Must[[]string](t)(filepath.Glob("*/example*_test.go"))...)
	names = append(names, check.Must[[]string](t)(filepath.Glob("proof/test/recipes/example*_test.go"))...)
	for _, name := range names {
		of := ""
		if folder := filepath.Dir(name); folder != "." {
			of = filepath.Base(folder) + "."
		}
		source := content(t, name)
		files := token.NewFileSet()
		file := check.Must[*ast.File](t)(parser.ParseFile(files, name, source, parser.SkipObjectResolution|parser.ParseComments))
		text := func(from, to token.Pos) string {
			return strings.TrimSpace(source[files.Position(from).Offset:files.Position(to).Offset])
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				switch name := d.Name.Name; {
				case d.Recv != nil:
					receiver := strings.TrimPrefix(text(d.Recv.List[0].Type.Pos(), d.Recv.List[0].Type.End()), "*")
					shown[of+receiver] += "\n\n" + text(d.Pos(), d.End())
				case !strings.HasPrefix(name, "Example"):
					shown[of+name] = text(beginning(d, d.Doc), d.End())
				default:
					body := text(d.Body.Lbrace+1, d.Body.Rbrace)
					body = strings.TrimPrefix(body, "rdb, stop := locktest.Start()\n\tdefer stop()\n")
					if body, _, run := strings.Cut(body, "\n\t// Output:"); run {
						shown[of+name] = dedent("\t" + strings.TrimLeft(body, "\n\t"))
					}
				}
			case *ast.GenDecl:
				if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
					shown[of+spec.Name.Name] = text(beginning(d, d.Doc), d.End())
				}
			}
		}
	}
	return shown
}

// beginning is where a declaration begins, with its comment.
func beginning(decl ast.Decl, doc *ast.CommentGroup) token.Pos {
	if doc != nil {
		return doc.Pos()
	}
	return decl.Pos()
}

// dedent takes away blank lines around a text, and the indentation that all of its lines share.
func dedent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	indent := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " \t"))]
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(line, indent), " \t")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
