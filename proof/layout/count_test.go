package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

func TestCode(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{
		"":                                  0,
		"// A comment.\n\npackage a\n":      1,
		"package a\n\nvar A = `a\n\nb`\n":   4,
		"package a /* b\n\nc */\n":          1,
		"package a\n\nfunc A() {\n}\n":      3,
		"package a\n//go:embed a\nvar A []": 2,
	} {
		if got := goCode([]byte(source)); got != want {
			t.Errorf("Go: got %d, want %d: %q", got, want, source)
		}
	}
	for source, want := range map[string]int{
		"":                                 0,
		"-- A comment.\n\nlocal a = 1\n":   1,
		"--[[ a\nb ]]\nlocal a = 1 -- b\n": 1,
		"local a = {\n  1,\n\n}\n":         3,
	} {
		if got := check.Must[int](t)(luaCode(source)); got != want {
			t.Errorf("Lua: got %d, want %d: %q", got, want, source)
		}
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{
		"a.go": nil, "go.mod": nil, "inner/b.go": nil, "below/go.mod": nil, "below/deep/c.go": nil, "belowother/d.go": nil,
	}
	n, size, err := download(files)
	if check.NoError(t, err); n != 4 || size < 4*30 {
		t.Errorf("got %d files, %d bytes, want 4 files", n, size)
	}
	if n := inFolder(files); n != 2 {
		t.Errorf("got %d in the folder, want 2", n)
	}
}

func TestOfTool(t *testing.T) {
	t.Parallel()
	code, tests := ofTool(map[string][]byte{
		"a.go": []byte("x\n"), "cmd/redislock/a.go": []byte("x\n\n"), "cmd/redislock/b/a.go": []byte("x\n"),
		"cmd/redislock/b/a_test.go": []byte("x\n"), "cmd/redislock/b/a.md": []byte("x\n"),
	})
	if code != 3 || tests != 1 {
		t.Errorf("got %d lines and %d of tests, want 3 and 1", code, tests)
	}
}

// typed is the tree of a root package with one file.
func typed(t *testing.T, source string) *tree {
	t.Helper()
	set := token.NewFileSet()
	file := check.Must[*ast.File](t)(parser.ParseFile(set, "a.go", source, 0))
	config := types.Config{Importer: nil}
	return &tree{types: check.Must[*types.Package](t)(config.Check(module, set, []*ast.File{file}, nil))}
}

func TestLeaves(t *testing.T) {
	t.Parallel()
	const inner = "\ntype inner struct { x, y int }\n"
	for fields, want := range map[string]int{
		"":                                 0,
		"a, b int; c []string":             3,
		"inner":                            2,
		"a inner; b *inner":                3,
		"a [8]inner":                       2,
		"a struct { b inner; c error }":    3,
		"a []inner; b map[string]inner":    2,
		"a func(inner); b chan inner; c C": 4,
	} {
		lib := typed(t, "package redislock\ntype C = inner\ntype A struct {"+fields+"}"+inner)
		if got := check.Must[int](t)(lib.leaves("A")); got != want {
			t.Errorf("got %d, want %d: %s", got, want, fields)
		}
	}
	if _, err := typed(t, "package redislock").leaves("A"); err == nil {
		t.Error("a type that is not there has no fields, want an error")
	}
	if n := typed(t, "package redislock\ntype A int\nfunc B() {}\nvar c int\nconst D = 1").exported(); n != 3 {
		t.Errorf("got %d exported names, want 3", n)
	}
}
