package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/proof/plant"
)

// A library is all that is changed: its mutants, and the sources with all of them in.
type library struct {
	*tree
	packages []*goPackage
	mutants  []*defect
	skipped  []skipped
	wrapped  map[string]string // texts of files that are replaced, by path in the tree
	scripts  *scripts
	places   int
}

// ofMutants is where the package that the wrapped sources import is put, and where it comes from.
const (
	plantedAt = "internal/mutant"
	plantedOf = "proof/mutants/mutant"
)

// read finds the mutants of a library, and wraps its sources.
func (t *tree) read(of []*listed) (*library, error) {
	packages, err := t.load(of)
	if err != nil {
		return nil, err
	}
	l := &library{tree: t, packages: packages, wrapped: map[string]string{}}
	for _, p := range packages {
		for _, f := range p.files {
			f.declare()
		}
	}
	for _, p := range packages {
		for _, f := range p.files {
			f.places()
		}
	}
	if l.scripts, err = t.readScripts(packages); err != nil {
		return nil, err
	}
	l.places = packages[0].ids.next
	if err := l.wrap(); err != nil {
		return nil, err
	}
	l.collect()
	return l, nil
}

// wrap writes the sources anew, and takes out what does not compile.
func (l *library) wrap() error {
	planted, err := l.planted()
	if err != nil {
		return err
	}
	for _, p := range l.packages {
		bad, err := map[int]bool{}, errors.New("not tried")
		for tries := 0; err != nil; tries++ {
			if tries == 6 {
				return fmt.Errorf("the wrapped source of %s does not compile: %w", p.ImportPath, err)
			}
			err = l.tryWrap(p, planted, bad)
		}
	}
	return nil
}

// withPlanted imports the package that is not there, too.
type withPlanted struct {
	types.Importer
	path    string
	planted *types.Package
}

func (w withPlanted) Import(path string) (*types.Package, error) {
	if path == w.path {
		return w.planted, nil
	}
	return w.Importer.Import(path)
}

// planted is the package that the wrapped sources import.
func (l *library) planted() (types.Importer, error) {
	var files []*ast.File
	for name, text := range plantedSources(nil) {
		if strings.HasSuffix(name, ".go") {
			file, err := parser.ParseFile(l.set, name, text, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
	}
	from := l.importer()
	path := l.module + "/" + plantedAt
	checked, _, errs := l.check(path, files, from)
	return withPlanted{from, path, checked}, errors.Join(errs...)
}

// tryWrap wraps a package without the places that are bad, and finds out which others are.
func (l *library) tryWrap(p *goPackage, from types.Importer, bad map[int]bool) error {
	var files []*ast.File
	for _, f := range p.files {
		text := l.withImport(f, apply(f.source, slices.DeleteFunc(slices.Clone(f.edits), func(e edit) bool { return bad[e.place] })))
		syntax, err := parser.ParseFile(l.set, filepath.Join(l.root, f.path), text, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		l.wrapped[f.path] = text
		files = append(files, syntax)
	}
	_, _, errs := l.check(p.ImportPath, files, from)
	known := len(bad)
	for _, err := range errs {
		p.blame(err, bad, l.tree)
	}
	if len(errs) > 0 && len(bad) == known {
		return fmt.Errorf("%s: nothing there can be taken out: %w", p.ImportPath, errors.Join(errs...))
	}
	p.takeOut(bad)
	return errors.Join(errs...)
}

// blame finds the places that an error is about: if a function does not end, those of its statements that may end it, and
// otherwise those of its line.
func (p *goPackage) blame(err error, bad map[int]bool, t *tree) {
	var at types.Error
	if !errors.As(err, &at) {
		return
	}
	where := at.Fset.Position(at.Pos)
	for _, f := range p.files {
		if f.path != t.relative(where.Filename) {
			continue
		}
		if strings.Contains(at.Msg, "missing return") {
			for place, line := range f.ends {
				if line == where.Line {
					bad[place] = true
				}
			}
			continue
		}
		for _, e := range f.edits {
			if e.place >= 0 && (lineOf(f.source, e.start) == where.Line || lineOf(f.source, e.end) == where.Line) {
				bad[e.place] = true
			}
		}
	}
}

func lineOf(source []byte, at int) int { return 1 + strings.Count(string(source[:at]), "\n") }

// takeOut drops the mutants of places that do not compile.
func (p *goPackage) takeOut(bad map[int]bool) {
	for _, f := range p.files {
		f.mutants = slices.DeleteFunc(f.mutants, func(m *defect) bool {
			if bad[m.reach[0]] {
				f.skip("what is put around it does not compile")
			}
			return bad[m.reach[0]]
		})
	}
	for _, c := range p.constants {
		c.spoiled = c.spoiled || bad[c.place]
	}
}

// withImport has a wrapped file import the package, if it was changed.
func (l *library) withImport(f *goFile, text string) string {
	if text == string(f.source) {
		return text
	}
	at := f.offset(f.syntax.Name.End())
	return text[:at] + "; import mutant \"" + l.module + "/" + plantedAt + "\"" + text[at:]
}

// collect gathers the mutants of all files.
func (l *library) collect() {
	unused := map[*defect]bool{}
	for _, c := range l.packages[0].constants {
		for _, m := range c.mutants {
			unused[m] = c.uses == 0 || c.spoiled
		}
	}
	for _, p := range l.packages {
		for _, f := range p.files {
			for _, m := range f.mutants {
				if unused[m] {
					f.skip("the constant is used where one has to be")
				} else {
					l.mutants = append(l.mutants, m)
				}
			}
			l.skipped = append(l.skipped, f.skipped...)
		}
	}
	l.mutants = append(l.mutants, l.scripts.mutants...)
	l.skipped = append(l.skipped, l.scripts.skipped...)
}

// write puts the wrapped sources, and others that are given, into a folder, and returns the file that `go build -overlay` reads.
func (l *library) write(dir string, others map[string]string) (string, error) {
	files := maps.Clone(l.wrapped)
	maps.Copy(files, others)
	for name, text := range plantedSources(l.scripts.numbers()) {
		files[plantedAt+"/"+name] = text
	}
	replace := map[string]string{}
	for i, path := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(path)))
		if err := os.WriteFile(to, []byte(files[path]), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(l.root, path)] = to
	}
	return plant.Overlay(dir, replace)
}
