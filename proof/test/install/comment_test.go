package install_test

import (
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// Each package of each module says what it is: in a file of the package, or of its tests if it has nothing else.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	files := check.Must[tree](t)(readTree(t.Context(), filepath.Join("..", "..", "..")))
	type folder struct{ code, codeSays, testsSay bool }
	folders := map[string]folder{}
	for name, content := range files {
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.PackageClauseOnly|parser.ParseComments)
		check.NoError(t, err)
		f, says := folders[path.Dir(name)], file.Doc != nil && file.Doc.Text() != ""
		if strings.HasSuffix(name, "_test.go") {
			f.testsSay = f.testsSay || says
		} else {
			f.code, f.codeSays = true, f.codeSays || says
		}
		folders[path.Dir(name)] = f
	}
	for dir, f := range folders {
		if f.code && !f.codeSays || !f.code && !f.testsSay {
			t.Errorf("%s has no package comment", dir)
		}
	}
}
