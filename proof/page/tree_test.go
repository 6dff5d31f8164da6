package page

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root      = "." // TestMain goes there
	pagePath  = "docs/proof.md"
	evidence  = "proof/evidence.md"
	rows      = 65 // of the fault matrix
	matrix    = "What can go wrong, and what tries it"
	bugs      = "Bugs found, and what guards them"
	checksDir = "proof/torture/check"

	contractDir = "internal/contract"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page has each promise of the README word for word, and no other, and says of each what proves it.
func TestPromises(t *testing.T) {
	t.Parallel()
	page := Read(read(t, pagePath))
	var promised, quoted []string
	for _, text := range Promises(read(t, "README.md")) {
		promised = append(promised, FromRoot(text, "README.md"))
	}
	for _, p := range page.Promises {
		text := FromRoot(p.Text, pagePath)
		quoted = append(quoted, text)
		if !slices.Contains(promised, text) {
			t.Errorf("the README does not say any more: %s", text)
		}
		if len(p.Tests) == 0 {
			t.Errorf("no test is named for: %s", text)
		}
	}
	for _, text := range promised {
		if !slices.Contains(quoted, text) {
			t.Errorf("%s lacks: %s", pagePath, text)
		}
	}
	if len(promised) < 10 {
		t.Errorf("read %d promises of the README", len(promised))
	}
}

// Each row of the fault matrix stands there once, with a test or with the reason why there is none.
func TestMatrix(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range table(t, matrix).Rows {
		number, why := row.Cells[0], row.Cells[len(row.Cells)-1]
		if seen[number] {
			t.Errorf("row %s stands there twice", number)
		}
		seen[number] = true
		if len(row.Tests) == 0 && why == "" {
			t.Errorf("row %s has neither a test nor a reason", number)
		}
	}
	for n := range rows {
		if !seen[strconv.Itoa(n+1)] {
			t.Errorf("row %d is missing", n+1)
		}
	}
	if len(seen) != rows {
		t.Errorf("got %d rows, want %d", len(seen), rows)
	}
}

// Each bug has a test, and says how it was found.
func TestBugs(t *testing.T) {
	t.Parallel()
	ways := []string{"test", "model", "matrix", "review", "campaign", "attack", "mutant", "measurement"}
	for _, row := range table(t, bugs).Rows {
		if len(row.Tests) == 0 {
			t.Errorf("no test for: %s", row.Cells[0])
		}
		if !slices.Contains(ways, row.Cells[1]) {
			t.Errorf("found by %q, want one of %v: %s", row.Cells[1], ways, row.Cells[0])
		}
	}
}

func table(t *testing.T, section string) Table {
	t.Helper()
	all := Table{}
	for _, table := range Read(read(t, evidence)).Tables {
		if table.Section == section {
			all.Rows = append(all.Rows, table.Rows...)
		}
	}
	if len(all.Rows) == 0 {
		t.Fatalf("%s has no table %q", evidence, section)
	}
	return all
}

// Each test that the page names is there, in its folder, with the subtests that are named.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	asked, byHand := Read(read(t, pagePath) + "\n\n" + read(t, evidence)).Tests()
	folders := map[string]*sources{}
	for _, test := range slices.Concat(asked, byHand) {
		if folders[test.Folder] == nil {
			folders[test.Folder] = sourcesOf(t, test.Folder, "*_test.go")
		}
		if lack := folders[test.Folder].lacks(test.Name); lack != "" {
			t.Errorf("%s: no %s", test, lack)
		}
	}
	if len(asked) < 100 {
		t.Errorf("the page names %d tests", len(asked))
	}
}

// Each promise of the campaign that the page names has a checker.
func TestNamedChecksExist(t *testing.T) {
	t.Parallel()
	checks, named := sourcesOf(t, checksDir, "*.go").texts, 0
	for _, p := range Read(read(t, pagePath)).Promises {
		named += len(p.Checks)
		for _, name := range p.Checks {
			if !checks[name] {
				t.Errorf("%s has no promise %q", checksDir, name)
			}
		}
	}
	if named == 0 {
		t.Error("the page names no checker")
	}
}

// `make test-all` asks for the tests of the page, and `make test` for those of its own list.
func TestMakeAsksForThem(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	for target, asks := range map[string]string{"test-all": "$(REPORTED) -proof " + pagePath + "," + evidence, "test": "$(REPORTED) -promises " + listPath} {
		_, recipe, _ := strings.Cut(makefile, "\n"+target+": ")
		recipe, _, _ = strings.Cut(recipe, "\n\n")
		if !strings.Contains(recipe, asks) {
			t.Errorf("make %s has no %s", target, asks)
		}
	}
}

// What was forgotten, renamed or changed is noticed.
func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	s := sourcesOf(t, "proof/page", "*_test.go")
	for name, lacks := range map[string]bool{
		"TestBugs": false, "TestBug": true, "sourcesOf": true, "TestBugs/redis": false, "TestBugs/no_such_part": true,
		"TestBugs/" + "got_%d_rows,_want_%d": false,
	} {
		if lack := s.lacks(name); (lack != "") != lacks {
			t.Errorf("%s: lacks %q", name, lack)
		}
	}
	readme := "# r\n\n## What is guaranteed\n\n- **One.** It\n  holds.\n- Two [here](docs/a.md#b).\n\n## What is not\n\nNot all, see [there](#x).\n\n" +
		"| what | remains |\n|---|---|\n| a | b |\n\n## Else\n\nNothing.\n"
	var got []string
	for _, text := range Promises(readme) {
		got = append(got, FromRoot(text, "README.md"))
	}
	want := []string{
		"**One.** It holds.", "Two [here](docs/a.md#b).", "Not all, see [there](README.md#x).", "- *what:* a - *remains:* b",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got promises %q, want %q", got, want)
	}
	if got := FromRoot("[here](a.md#b) [there](../README.md#x)", pagePath); got != "[here](docs/a.md#b) [there](README.md#x)" {
		t.Errorf("got links %s", got)
	}
}

// sources are what the Go files of a folder have.
type sources struct {
	tests map[string]bool
	texts map[string]bool // string literals
}

func sourcesOf(t *testing.T, folder, pattern string) *sources {
	t.Helper()
	s := &sources{tests: map[string]bool{}, texts: map[string]bool{}}
	files, err := filepath.Glob(filepath.Join(root, folder, pattern))
	if err != nil || len(files) == 0 {
		t.Errorf("%s has no %s", folder, pattern)
	}
	scripts, err := filepath.Glob(filepath.Join(root, folder, "testdata", "*.txtar"))
	if err != nil {
		t.Error(err)
	}
	for _, name := range scripts {
		s.texts[strings.TrimSuffix(filepath.Base(name), ".txtar")] = true
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if runsContract(file) && folder != contractDir {
			maps.Copy(s.texts, sourcesOf(t, contractDir, "*.go").texts) // which has its subtests
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					s.tests[n.Name.Name] = true
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil {
					s.texts[text] = true
				}
			}
			return true
		})
	}
	return s
}

// runsContract reports whether a file runs what every lock promises.
func runsContract(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return strings.HasSuffix(i.Path.Value, "/"+contractDir+`"`)
	})
}

// lacks says what of a test the sources do not have. A subtest is there if some text, or a
// script, is its name, or if it is a kind of server.
func (s *sources) lacks(name string) string {
	parts := strings.Split(name, "/")
	if !s.tests[parts[0]] {
		return "such test"
	}
	kinds := []string{"miniredis", "redis", "valkey"}
	for _, part := range parts[1:] {
		found := slices.Contains(kinds, part)
		for text := range s.texts {
			found = found || strings.ReplaceAll(text, " ", "_") == part
		}
		if !found {
			return "subtest " + part
		}
	}
	return ""
}
