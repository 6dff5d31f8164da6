package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/proof/plant"
)

// module is the path of the root package and of its module.
const module = "github.com/seed-14de3678/redislock"

// A listed package is what `go list` says of it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
	Module                  *struct{ Path string }
}

// A tree is the library as the go command sees it.
type tree struct {
	root  string    // the folder of the repository
	core  []*listed // the root package and what it needs of its own module, the root first
	set   *token.FileSet
	files map[string]*ast.File // of the root package, without tests, by name
	types *types.Package       // the root package
	uses  map[*ast.Ident]types.Object
}

// readTree reads the library in a folder.
func readTree(ctx context.Context, root string) (*tree, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, set: token.NewFileSet(), files: map[string]*ast.File{}}
	out, err := t.output(ctx, "go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,Imports,Module", ".")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Path == module {
			t.core = append(t.core, p)
		}
	}
	slices.Reverse(t.core) // the go command names what is needed first
	if len(t.core) == 0 || t.core[0].ImportPath != module {
		return nil, fmt.Errorf("%s is not the folder of %s", root, module)
	}
	return t, t.check(exports)
}

// check reads the root package, and finds out what its names mean.
func (t *tree) check(exports map[string]string) error {
	var syntax []*ast.File
	for _, name := range t.core[0].GoFiles {
		file, err := parser.ParseFile(t.set, filepath.Join(t.core[0].Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		t.files[name], syntax = file, append(syntax, file)
	}
	t.uses = map[*ast.Ident]types.Object{}
	config := types.Config{Importer: importer.ForCompiler(t.set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	var err error
	t.types, err = config.Check(module, t.set, syntax, &types.Info{Uses: t.uses})
	return err
}

// output runs a command in the folder of the repository, and returns what it writes.
func (t *tree) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.root
	for _, setting := range os.Environ() { // a hook of git that runs this has variables set that lead to its own repository
		if !strings.HasPrefix(setting, "GIT_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(cmd.Env, "PWD="+t.root)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := plant.Run(cmd); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &said)
	}
	return out.Bytes(), nil
}

// exported counts the names of the root package that programs can use.
func (t *tree) exported() (n int) {
	for _, name := range t.types.Scope().Names() {
		if token.IsExported(name) {
			n++
		}
	}
	return n
}

// contents are the files of the repository that are or would be in a commit, by path, with slashes.
func (t *tree) contents(ctx context.Context) (map[string][]byte, error) {
	list, err := t.output(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		file := filepath.Join(t.root, filepath.FromSlash(name))
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			continue // deleted, or a link, which no zip of a module has
		}
		if files[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// inFolder counts the files of the root folder itself.
func inFolder(files map[string][]byte) (n int) {
	for name := range files {
		if path.Dir(name) == "." {
			n++
		}
	}
	return n
}
