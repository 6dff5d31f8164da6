package errors_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A sentinel is an exported Err… of a package, with the text that it is made of.
type sentinel struct {
	dir  string // of its package; "." for the root
	name string
	text string
}

// Each sentinel has a text that can stand in the middle of another: what wraps it says which package speaks.
func TestSentinelTexts(t *testing.T) {
	t.Parallel()
	all := sentinels(t)
	if len(all) == 0 {
		t.Fatal("found no sentinel")
	}
	for _, s := range all {
		t.Run(filepath.Join(s.dir, s.name), func(t *testing.T) {
			t.Parallel()
			if fault := badText(s.text); fault != "" {
				t.Errorf("%q %s", s.text, fault)
			}
		})
	}
}

// The check sees each form that is not wanted.
func TestSentinelTextsSeen(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]bool{
		"lock lost": false, "the time of Options.Wait is over": false, "no owner: see NewOwner": false,
		"": true, "redislock: lock lost": true, "Lock lost": true, "lock lost.": true, "lock lost!": true, " lock lost": true,
	} {
		if got := badText(text); (got != "") != bad {
			t.Errorf("%q: got %q, want a fault: %t", text, got, bad)
		}
	}
}

// badText says what is wrong with the text of a sentinel.
func badText(text string) string {
	switch {
	case text == "", text != strings.TrimSpace(text):
		return "is empty, or has space around it"
	case regexp.MustCompile(`^\w+: `).MatchString(text):
		return "has a prefix: that of the package stands where the error is wrapped"
	case !regexp.MustCompile(`^[a-z]`).MatchString(text):
		return "does not begin with a small letter"
	case regexp.MustCompile(`[.!:]$`).MatchString(text):
		return "ends like a sentence"
	}
	return ""
}

// Each sentinel that a caller can name has one row in docs/errors.md, and each that has a row is there.
func TestSentinelsHaveRows(t *testing.T) {
	t.Parallel()
	var want []string
	for _, s := range sentinels(t) {
		switch {
		case slices.Contains(strings.Split(filepath.ToSlash(s.dir), "/"), "internal"):
		case s.dir == ".":
			want = append(want, s.name)
		default:
			want = append(want, filepath.Base(s.dir)+"."+s.name)
		}
	}
	page := string(check.Must[[]byte](t)(os.ReadFile(filepath.Join("..", "..", "..", "docs", "errors.md"))))
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^`]+`(?:, `[^`]+`)*)").FindAllStringSubmatch(page, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			name = strings.Trim(name, "`")
			if regexp.MustCompile(`^(\w+\.)?Err[A-Z]`).MatchString(name) && name != "errors.ErrUnsupported" && name != "redis.ErrClosed" {
				got = append(got, name)
			}
		}
	}
	for _, name := range want {
		if n := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != name })); n != 1 {
			t.Errorf("%s has %d rows, want 1 that begins with it and says what to do", name, n)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s has a row, but does not exist", name)
		}
	}
}

// sentinels are those of all packages of the module, but for other names of the errors of somebody else.
func sentinels(t *testing.T) (all []sentinel) {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	check.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || isModule(path)):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		dir := check.Must[string](t)(filepath.Rel(root, filepath.Dir(path)))
		file := check.Must[*ast.File](t)(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
				for _, spec := range d.Specs {
					all = append(all, sentinelsOf(t, dir, spec.(*ast.ValueSpec))...)
				}
			}
		}
		return nil
	}))
	return all
}

// isModule reports whether a folder is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// sentinelsOf are those that one line declares.
func sentinelsOf(t *testing.T, dir string, spec *ast.ValueSpec) (found []sentinel) {
	t.Helper()
	for i, name := range spec.Names {
		if !regexp.MustCompile(`^Err[A-Z]`).MatchString(name.Name) || len(spec.Values) <= i {
			continue
		}
		if _, another := spec.Values[i].(*ast.SelectorExpr); another {
			continue
		}
		made, ok := spec.Values[i].(*ast.CallExpr)
		if ok {
			of, isSelector := made.Fun.(*ast.SelectorExpr)
			ok = isSelector && (of.Sel.Name == "New" || of.Sel.Name == "Errorf") && len(made.Args) > 0
		}
		var literal *ast.BasicLit
		if ok {
			literal, ok = made.Args[0].(*ast.BasicLit)
		}
		if !ok {
			t.Errorf("%s: %s is not made of a text", dir, name.Name)
			continue
		}
		found = append(found, sentinel{dir, name.Name, check.Must[string](t)(strconv.Unquote(literal.Value))})
	}
	return found
}
