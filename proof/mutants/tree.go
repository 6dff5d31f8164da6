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
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/proof/plant"
)

// A listed package is what `go list` says of it.
type listed struct {
	ImportPath, Dir, Name, Export, ForTest   string
	GoFiles, TestGoFiles, XTestGoFiles       []string
	Imports, TestImports, XTestImports, Deps []string
	EmbedFiles                               []string
	Module                                   *struct{ Path, Dir string }
	Standard, DepOnly                        bool
}

// A tree is the module whose library is changed, as the go command sees it.
type tree struct {
	root    string // its folder, with all links followed
	module  string
	exports map[string]string // files with what packages export, by import path
	set     *token.FileSet
}

// tags are those with which every test is built.
const tags = "proof"

// goCommand is a run of the go command in the tree, which ends with ctx.
func (t *tree) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = t.root
	cmd.Env = append(os.Environ(), "PWD="+t.root)
	plant.InGroup(cmd)
	return cmd
}

// list asks for packages.
func (t *tree) list(ctx context.Context, args ...string) ([]*listed, error) {
	cmd := t.goCommand(ctx, append([]string{"list", "-json", "-tags", tags}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, &said)
	}
	var all []*listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// rigs are packages of the module that are for tests alone, or for the tool and the proof.
var rigs = regexp.MustCompile(`^(internal/(redistest|check|contract|world|plot|turns|mutant|proto/decode)|test)(/|$)`)

// plantedImports are what package mutant imports, which the library may not.
var plantedImports = []string{"cmp", "context", "os", "strconv", "strings", "syscall"}

// openTree looks at the module in a folder. It returns the packages of the library, and those that have tests.
func openTree(ctx context.Context, root string) (t *tree, library, tested []*listed, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return nil, nil, nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, nil, nil, err
	}
	t = &tree{root: root, exports: map[string]string{}, set: token.NewFileSet()}
	all, err := t.list(ctx, append([]string{"-export", "-deps", "./..."}, plantedImports...)...)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, p := range all {
		t.exports[p.ImportPath] = p.Export
		if p.DepOnly || p.Module == nil {
			continue
		}
		t.module = p.Module.Path
		if len(p.GoFiles) > 0 && !rigs.MatchString(t.relative(p.Dir)) {
			library = append(library, p)
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			tested = append(tested, p)
		}
	}
	return t, library, tested, nil
}

// relative is a path in the tree.
func (t *tree) relative(path string) string {
	short, err := filepath.Rel(t.root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(short)
}

// A goPackage is a package of the library, with its types.
type goPackage struct {
	*listed
	set       *token.FileSet
	types     *types.Package
	info      *types.Info
	files     []*goFile
	ids       *ids
	constants map[string]*libraryConstant // by import path and name; of the whole library
}

// load reads the packages of the library.
func (t *tree) load(library []*listed) ([]*goPackage, error) {
	shared, constants := &ids{}, map[string]*libraryConstant{}
	var all []*goPackage
	for _, p := range library {
		loaded := &goPackage{listed: p, set: t.set, ids: shared, constants: constants}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			syntax, err := parser.ParseFile(t.set, path, source, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			loaded.files = append(loaded.files, &goFile{
				goPackage: loaded, path: t.relative(path), source: source, syntax: syntax, ends: map[int]int{},
			})
		}
		var errs []error
		loaded.types, loaded.info, errs = t.check(p.ImportPath, loaded.syntaxes(), t.importer())
		if len(errs) > 0 {
			return nil, errors.Join(errs...)
		}
		for _, f := range loaded.files {
			f.imports = importsOf(f.syntax, loaded.types)
		}
		all = append(all, loaded)
	}
	return all, nil
}

func (p *goPackage) syntaxes() []*ast.File {
	var all []*ast.File
	for _, f := range p.files {
		all = append(all, f.syntax)
	}
	return all
}

// importsOf are the names that packages have in a file.
func importsOf(syntax *ast.File, of *types.Package) map[string]string {
	names := map[string]string{}
	for _, spec := range syntax.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		switch i := slices.IndexFunc(of.Imports(), func(p *types.Package) bool { return p.Path() == path }); {
		case spec.Name != nil && spec.Name.Name != "_":
			names[path] = spec.Name.Name
		case spec.Name == nil && i >= 0:
			names[path] = of.Imports()[i].Name()
		}
	}
	return names
}

// importer reads what compiled packages export.
func (t *tree) importer() types.Importer {
	return importer.ForCompiler(t.set, "gc", func(path string) (io.ReadCloser, error) {
		if t.exports[path] == "" {
			return nil, fmt.Errorf("%s is not compiled", path)
		}
		return os.Open(t.exports[path])
	})
}

// check finds the types of a package, and what is wrong with it.
func (t *tree) check(path string, files []*ast.File, from types.Importer) (*types.Package, *types.Info, []error) {
	var errs []error
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}
	config := types.Config{Importer: from, Error: func(err error) { errs = append(errs, err) }}
	checked, _ := config.Check(path, t.set, files, info)
	return checked, info, errs
}
