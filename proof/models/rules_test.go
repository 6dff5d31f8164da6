package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// noRules are constants that stand among the rules and are none: no rule is left out, and how many there are.
var noRules = []string{"all", "none", "nothing", "breaches"}

// Every rule that a package of models has a constant for is left out by a group, and every package of models has groups here.
// So none can be dropped from a list without a word.
func TestRulesAreListed(t *testing.T) {
	t.Parallel()
	imports := map[string]bool{}
	for _, spec := range parsed(t, "main.go").Imports {
		imports[strings.Trim(filepath.Base(spec.Path.Value), `"`)] = true
	}
	folders, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for i := range folders {
		folders[i] = filepath.Dir(folders[i])
	}
	for _, folder := range slices.Compact(folders) {
		if folder == "explore" || folder == "tied" {
			continue // the search, and what ties models to the model server
		}
		if !imports[folder] {
			t.Errorf("main.go has no groups of package %s", folder)
		}
		rules, listed := rulesOf(t, folder)
		if len(listed) < 2 {
			t.Errorf("package %s: no rules are found", folder)
		}
		for _, rule := range rules {
			if !listed[rule] && !slices.Contains(noRules, rule) {
				t.Errorf("package %s: no group leaves out %s", folder, rule)
			}
		}
	}
}

// rulesOf returns the constants of a package that are declared together with a rule, and which names stand in the lists of groups.
func rulesOf(t *testing.T, folder string) (rules []string, listed map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	listed = map[string]bool{}
	var blocks [][]string
	for _, name := range files {
		file := parsed(t, name)
		for _, list := range listsIn(file) {
			ast.Inspect(list, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					listed[id.Name] = true
				}
				return true
			})
		}
		blocks = append(blocks, constantsIn(file)...)
	}
	for _, names := range blocks {
		if slices.ContainsFunc(names, func(name string) bool { return listed[name] }) {
			rules = append(rules, names...)
		}
	}
	return rules, listed
}

// listsIn returns the lists of rules that the groups of a file have.
func listsIn(file *ast.File) (lists []ast.Expr) {
	ast.Inspect(file, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && (key.Name == "Rules" || key.Name == "breaches") {
				lists = append(lists, kv.Value)
			}
		}
		return true
	})
	return lists
}

// constantsIn returns the names of the constants of a file that are declared together.
func constantsIn(file *ast.File) (blocks [][]string) {
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		var names []string
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range v.Names {
					names = append(names, name.Name)
				}
			}
		}
		blocks = append(blocks, names)
	}
	return blocks
}

func parsed(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
