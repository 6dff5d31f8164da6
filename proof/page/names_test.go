package page

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// What a newcomer reads first stays short.
const (
	mostNames   = 50  // that the root package exports
	mostFields  = 10  // of Options
	mostComment = 60  // lines of the package comment
	mostDoc     = 658 // lines of go doc -all
)

func TestRootIsShort(t *testing.T) {
	t.Parallel()
	files := parsed(t, root, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
	var names []string
	comment := 0
	for _, f := range files {
		comment = max(comment, strings.Count(f.Doc.Text(), "\n"))
		for name, object := range f.Scope.Objects {
			if ast.IsExported(name) && object.Kind != ast.Bad {
				names = append(names, name)
			}
		}
	}
	if n := len(names); n == 0 || n > mostNames {
		slices.Sort(names)
		t.Errorf("%d exported names, the limit is %d: %s", n, mostNames, strings.Join(names, " "))
	}
	if n := reflect.TypeFor[redislock.Options]().NumField(); n > mostFields {
		t.Errorf("Options has %d fields, the limit is %d", n, mostFields)
	}
	if comment == 0 || comment > mostComment {
		t.Errorf("the package comment has %d lines, the limit is %d", comment, mostComment)
	}
	cmd := exec.CommandContext(t.Context(), "go", "doc", "-all", ".")
	cmd.Dir = root
	out := check.Must[[]byte](t)(cmd.Output())
	if n := strings.Count(string(out), "\n"); n == 0 || n > mostDoc {
		t.Errorf("go doc -all has %d lines, the limit is %d", n, mostDoc)
	}
}

// notRun are the examples that compile and do not run, and why.
var notRun = map[string]string{
	"WithMinUptime": "the server inside of the example does not say for how long it has been up",
	"locktest":      "they are parts of a test, which has a *testing.T",
}

// Each example is whole: a reader can run it where its documentation is shown, without what stands beside it.
func TestExamplesAreWhole(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{
		"", "held", "quorum", "multi", "reentrant", "election", "fencing", "locktest", "redislockotel", "redislockgocron",
	} {
		files := parsed(t, filepath.Join(root, dir), func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		examples := doc.Examples(files...)
		if len(examples) == 0 {
			t.Errorf("%q has no examples", dir)
		}
		for _, e := range examples {
			if e.Play == nil {
				t.Errorf("%q: Example %s needs what stands outside of it", dir, e.Name)
			}
			if runs := e.Output != "" || e.EmptyOutput; !runs && notRun[e.Name] == "" && notRun[dir] == "" {
				t.Errorf("%q: Example %s has no output, so it does not run", dir, e.Name)
			}
		}
	}
}

// parsed returns the files of a folder whose names are wanted.
func parsed(t *testing.T, dir string, want func(name string) bool) []*ast.File {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range check.Must[[]string](t)(filepath.Glob(filepath.Join(dir, "*.go"))) {
		if want(path) {
			files = append(files, check.Must[*ast.File](t)(parser.ParseFile(fset, path, nil, parser.ParseComments)))
		}
	}
	return files
}
