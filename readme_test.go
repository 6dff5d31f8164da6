package redislock_test

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

func readme(t *testing.T) string {
	t.Helper()
	return string(check.Must[[]byte](t)(os.ReadFile("README.md")))
}

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	const most = 200
	if got := strings.Count(readme(t), "\n"); got > most {
		t.Errorf("got %d lines, want at most %d", got, most)
	}
}

// Each Go block of the README stands under a comment that names an Example, and is its body
// without the start of the server and the output.
func TestReadmeShowsExamples(t *testing.T) {
	t.Parallel()
	examples := exampleBodies(t)
	text := readme(t)
	marked := regexp.MustCompile("(?ms)^<!-- (Example\\w*) -->\n```go\n(.*?)^```$").FindAllStringSubmatch(text, -1)
	if len(marked) == 0 {
		t.Fatal("no Go block is marked with its Example")
	}
	blocks := regexp.MustCompile("(?im)^[ \t>]*(```|~~~)[ \t]*(go|golang)\\b").FindAllString(text, -1)
	if len(blocks) != len(marked) {
		t.Errorf("%d of %d Go blocks stand directly under a <!-- Example… -->", len(marked), len(blocks))
	}
	for _, m := range marked {
		want, ok := examples[m[1]]
		if !ok {
			t.Errorf("there is no %s", m[1])
			continue
		}
		if diff := cmp.Diff(want, dedent(m[2])); diff != "" {
			t.Errorf("%s (-example +README):\n%s", m[1], diff)
		}
	}
}

func TestDocsListRights(t *testing.T) {
	t.Parallel()
	page := string(check.Must[[]byte](t)(os.ReadFile("docs/rights.md")))
	rule := regexp.MustCompile(`(?m)^ +ACL SETUSER .*\n(?: +\+.*\n)+`).FindString(page)
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

// What the table of parts names is there, and it names every source file of the root.
func TestReadmeNamesParts(t *testing.T) {
	t.Parallel()
	_, parts, _ := strings.Cut(readme(t), "\n## The parts\n")
	parts, _, _ = strings.Cut(parts, "\n## ")
	named := regexp.MustCompile("`([a-z_/]+(?:\\.go|\\.lua|/[a-z]+))`").FindAllStringSubmatch(parts, -1)
	if len(named) == 0 {
		t.Fatal("no parts")
	}
	var got []string
	for _, m := range named {
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
		got = append(got, m[1])
	}
	for _, file := range check.Must[[]os.DirEntry](t)(os.ReadDir(".")) {
		name := file.Name()
		source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".lua")
		if source && !slices.Contains(got, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

// exampleBodies are the bodies of the Examples by name, as the README shows them.
func exampleBodies(t *testing.T) map[string]string {
	t.Helper()
	bodies := map[string]string{}
	for _, name := range check.Must[[]string](t)(filepath.Glob("example*_test.go")) {
		source := string(check.Must[[]byte](t)(os.ReadFile(name)))
		files := token.NewFileSet()
		file := check.Must[*ast.File](t)(parser.ParseFile(files, name, source, parser.SkipObjectResolution))
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
				continue
			}
			body := source[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset]
			body = strings.TrimPrefix(body, "\n\trdb, stop := startRedis()\n\tdefer stop()\n")
			body, _, _ = strings.Cut(body, "\n\t// Output:")
			bodies[f.Name.Name] = dedent(body)
		}
	}
	return bodies
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
