package page

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const constantsPath = "proof/constants.md"

// The page of constants has each number and each time of the library as it is in the code, and names the tests that fail if it
// is half or twice that, or says why there is none.
func TestConstants(t *testing.T) {
	t.Parallel()
	found := slices.Concat(constantsOfGo(t), constantsOfLua(t))
	slices.Sort(found)
	found = slices.Compact(found)
	seen, folders := map[string]bool{}, map[string]*sources{}
	for _, table := range Read(read(t, constantsPath)).Tables {
		for _, row := range table.Rows {
			name := strings.ReplaceAll(row.Cells[0]+" = "+row.Cells[1], "`", "")
			if seen[name] {
				t.Errorf("%s stands there twice", name)
			}
			seen[name] = true
			if !slices.Contains(found, name) {
				t.Errorf("the code does not have %s", name)
			}
			if row.Cells[2] == "" {
				t.Errorf("%s has neither a test nor a reason", name)
			}
			for _, test := range row.Tests {
				if folders[test.Folder] == nil {
					folders[test.Folder] = sourcesOf(t, test.Folder, "*_test.go")
				}
				if lack := folders[test.Folder].lacks(test.Name); lack != "" {
					t.Errorf("%s: %s: no %s", name, test, lack)
				}
			}
		}
	}
	for _, name := range found {
		if !seen[name] {
			t.Errorf("%s lacks %s", constantsPath, name)
		}
	}
	if len(found) < 100 {
		t.Errorf("found %d constants", len(found))
	}
}

// constantsOfGo finds the constants that are numbers, and in functions what is so many of a unit of time, or a part of
// something. A unit by itself is none.
func constantsOfGo(t *testing.T) (found []string) {
	t.Helper()
	for _, folder := range []string{
		".", "internal/clock", "internal/lease", "internal/listen", "internal/owners", "internal/pace", "internal/proto", "internal/rounds", "internal/wire",
		"quorum", "multi", "reentrant", "election", "redislockgocron",
	} {
		for _, name := range glob(t, folder, "*.go") {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			c := collector{file: filepath.ToSlash(name)}
			ast.Inspect(file, c.visit)
			found = append(found, c.found...)
		}
	}
	return found
}

// A collector finds the constants of one file.
type collector struct {
	file, function string
	found          []string
}

func (c *collector) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		c.function = n.Name.Name
	case *ast.GenDecl:
		if n.Tok == token.CONST {
			for _, s := range n.Specs {
				c.declared(s.(*ast.ValueSpec))
			}
			return false
		}
	case *ast.BinaryExpr:
		if n.Op == token.QUO && isNumber(n.Y) || n.Op == token.MUL && isNumber(n.X) && isUnit(n.Y) {
			c.note(c.function+"()", n)
			return false
		}
	}
	return true
}

func (c *collector) declared(s *ast.ValueSpec) {
	for i, name := range s.Names {
		if i < len(s.Values) && hasNumber(s.Values[i]) {
			c.note(name.Name, s.Values[i])
		}
	}
}

func (c *collector) note(name string, value ast.Expr) {
	c.found = append(c.found, fmt.Sprintf("%s %s = %s", c.file, name, types.ExprString(value)))
}

func isNumber(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && (literal.Kind == token.INT || literal.Kind == token.FLOAT)
}

var unit = regexp.MustCompile(`^time\.(Nanosecond|Microsecond|Millisecond|Second|Minute|Hour)$`)

func isUnit(e ast.Expr) bool { return unit.MatchString(types.ExprString(e)) }

func hasNumber(e ast.Expr) (has bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if part, ok := n.(ast.Expr); ok {
			has = has || isNumber(part) || isUnit(part)
		}
		return true
	})
	return has
}

// constantsOfLua finds the locals of scripts in capitals that are numbers, and other numbers of at least three digits. How many
// ms or µs a second has is none.
func constantsOfLua(t *testing.T) (found []string) {
	t.Helper()
	comment, local := regexp.MustCompile(`--.*|'[^'\n]*'`), regexp.MustCompile(`^local ([A-Z_]+) = (.*\d.*)$`)
	number := regexp.MustCompile(`\b\d{3,}\b`)
	for _, name := range slices.Concat(glob(t, ".", "*.lua"), glob(t, "lua", "*.lua"), glob(t, "lua/include", "*.lua")) {
		for line := range strings.Lines(read(t, name)) {
			line = strings.TrimSpace(comment.ReplaceAllString(line, ""))
			if m := local.FindStringSubmatch(line); m != nil {
				found = append(found, fmt.Sprintf("%s %s = %s", filepath.ToSlash(name), m[1], m[2]))
				continue
			}
			for _, n := range number.FindAllString(line, -1) {
				if n != "1000" && n != "1000000" {
					found = append(found, fmt.Sprintf("%s a number = %s", filepath.ToSlash(name), n))
				}
			}
		}
	}
	return found
}

// glob returns the files of a folder, from the root of the repository.
func glob(t *testing.T, folder, pattern string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no %s", folder, pattern)
	}
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
