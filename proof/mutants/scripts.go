package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Scripts are the Lua of the library: files that are embedded in Go, of which scripts are made, with others in them.
type scripts struct {
	mutants []*defect
	skipped []skipped
	known   map[string]int    // the numbers of scripts, by name
	sources map[string]string // by path
	hooked  bool              // it is noted which scripts are sent
}

func (s *scripts) numbers() map[string]int { return s.known }

// An embedded script is a file, and the variable that has its text, or an embed.FS with it and others.
type embedded struct {
	path, variable string
	isFile         bool // of an embed.FS
	place          int  // reached when the process starts
	includes       []string
	of             []int // scripts in which it is
}

var includeLine = regexp.MustCompile(`(?m)^--#include (\S+)$`)

// readScripts finds the scripts that Go files embed, has these files read them from where the environment says, and finds the
// mutants in them.
func (t *tree) readScripts(packages []*goPackage) (*scripts, error) {
	s := &scripts{known: map[string]int{}, sources: map[string]string{}}
	var all []*embedded
	for _, p := range packages {
		for _, f := range p.files {
			found, err := f.embeds(t.root)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	for _, p := range packages {
		for _, f := range p.files {
			f.namedScripts(all, s.known)
			s.hooked = f.hookInvocation() || s.hooked
		}
	}
	if len(s.known) > 0 && !s.hooked {
		return nil, errors.New("no method Script.invocation: it cannot be noted which scripts are sent")
	}
	for _, e := range all {
		if err := t.readScript(s, e, all); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// embeds finds the variables with embedded scripts.
func (f *goFile) embeds(root string) (all []*embedded, err error) {
	for _, decl := range f.syntax.Decls {
		gen, is := decl.(*ast.GenDecl)
		if !is || gen.Tok != token.VAR || gen.Doc == nil {
			continue
		}
		patterns, is := strings.CutPrefix(gen.Doc.List[len(gen.Doc.List)-1].Text, "//go:embed ")
		spec := gen.Specs[0].(*ast.ValueSpec)
		if !is || !strings.HasSuffix(patterns, ".lua") {
			continue
		}
		dir, variable, place := filepath.ToSlash(filepath.Dir(f.path)), spec.Names[0].Name, f.ids.take(1)
		by := fmt.Sprintf("Script(%d, %q, %sEmbedded)", place, path.Join(dir, patterns), variable)
		isFile := f.text(spec.Type) == "embed.FS"
		if isFile {
			by = fmt.Sprintf("Files(%d, %q, %sEmbedded)", place, dir, variable)
		}
		at, end := f.offset(spec.Names[0].End()), f.offset(spec.End())
		f.edits = append(f.edits,
			edit{start: at, end: at, before: "Embedded", place: -1},
			edit{start: end, end: end, before: fmt.Sprintf("; var %s = mutant.%s", variable, by), place: -1})
		for pattern := range strings.FieldsSeq(patterns) {
			files, err := fs.Glob(os.DirFS(root), path.Join(dir, pattern))
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				all = append(all, &embedded{path: file, variable: variable, isFile: isFile, place: place})
			}
		}
	}
	return all, nil
}

// namedScripts finds the calls that give names to scripts: newScript("x", ...), whose text is in x.lua of an embed.FS, and those
// with a name and the variable that has the text.
func (f *goFile) namedScripts(all []*embedded, known map[string]int) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is || len(call.Args) != 2 {
			return true
		}
		lit, isLit := call.Args[0].(*ast.BasicLit)
		variable, isName := call.Args[1].(*ast.Ident)
		if !isLit || !isName || lit.Kind != token.STRING {
			return true
		}
		called := strings.Trim(lit.Value, `"`)
		for _, e := range all {
			named := e.variable == variable.Name && filepath.Dir(e.path) == filepath.Dir(f.path)
			if e.isFile {
				named = f.text(call.Fun) == "newScript" && path.Base(e.path) == called+".lua"
			}
			if named {
				known[called] = f.ids.take(1)
				e.of = append(e.of, known[called])
			}
		}
		return true
	})
}

// hookInvocation has the method by which scripts are sent note it, and so the calls that ask a script for its text.
func (f *goFile) hookInvocation() (found bool) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name != "invocation" || n.Recv == nil || f.text(n.Recv.List[0].Type) != "*Script" {
				return n.Name.Name != "Sent" // which only compares
			}
			at := f.offset(n.Body.Lbrace) + 1
			text := " mutant.Sent(" + n.Recv.List[0].Names[0].Name + ".name);"
			f.edits = append(f.edits, edit{start: at, end: at, before: text, place: -1})
			found = true
		case *ast.CallExpr:
			called, is := n.Fun.(*ast.SelectorExpr)
			if is && called.Sel.Name == "Source" && strings.HasSuffix(fmt.Sprint(f.info.TypeOf(called.X)), "wire.Script") {
				script := f.text(called.X)
				f.edits = append(f.edits, edit{
					start: f.offset(n.Pos()), end: f.offset(n.End()), before: "mutant.SentAs(" + script + ".Name(), ", after: ")", place: -1,
				})
			}
		}
		return true
	})
	return found
}

// readScript finds the mutants of one script.
func (t *tree) readScript(s *scripts, e *embedded, all []*embedded) error {
	source, err := os.ReadFile(filepath.Join(t.root, e.path))
	if err != nil {
		return err
	}
	s.sources[e.path] = string(source)
	f, err := readLua(e.path, string(source))
	if err != nil {
		return err
	}
	reach := scriptsWith(filepath.Base(e.path), all, t.root)
	if len(e.of) == 0 && len(reach) == 0 {
		reach = []int{e.place}
	}
	s.skipped = append(s.skipped, f.skipped...)
	for _, m := range f.mutants() {
		m.reach = append(slices.Clone(e.of), reach...)
		s.mutants = append(s.mutants, m)
	}
	return nil
}

// scriptsWith are the numbers of scripts that include a file.
func scriptsWith(included string, all []*embedded, root string) []int {
	var found []int
	for _, e := range all {
		if e.includes == nil {
			source, _ := os.ReadFile(filepath.Join(root, e.path)) // it is read, and an error reported, elsewhere
			e.includes = []string{""}
			for _, m := range includeLine.FindAllStringSubmatch(string(source), -1) {
				e.includes = append(e.includes, m[1])
			}
		}
		if slices.Contains(e.includes, included) {
			found = append(found, e.of...)
			if len(e.of) == 0 {
				found = append(found, scriptsWith(filepath.Base(e.path), all, root)...)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// luac compiles scripts; it comes with luacheck. Without it, one that does not compile counts as caught: every test fails.
var luac, _ = exec.LookPath("luac5.1")

// compiles reports whether a script compiles, as far as that is known.
func compiles(ctx context.Context, source string) bool {
	if luac == "" {
		return true
	}
	cmd := exec.CommandContext(ctx, luac, "-p", "-")
	cmd.Stdin = strings.NewReader(source)
	return cmd.Run() == nil || ctx.Err() != nil
}
