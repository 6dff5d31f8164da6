// Systems checks that packages compile for systems other than the one it runs on: theirs and their tests' files are type-checked,
// and so is what they need, from the sources.
//
//	go run ./proof/systems -systems darwin,windows ./cmd/redislock/...
//
// To have go vet do that would compile the standard library and all else that is needed, for each system: minutes of a processor
// where nothing of it was compiled before. This takes seconds.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	systems := flag.String("systems", "darwin,windows", "the `systems`, as GOOS names them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	status := 0
	for system := range strings.SplitSeq(*systems, ",") {
		if err := compiles(ctx, ".", system, flag.Args()...); err != nil {
			fmt.Fprintf(os.Stderr, "for %s:\n%v\n", system, err)
			status = 1
		}
	}
	os.Exit(status)
}

// A listed package is what `go list` says of it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // what an import means here, if it is not the package of that path
	DepOnly         bool
	Error           *struct{ Err string }
}

// compiles returns what is wrong with packages of the module in a folder, and with their tests, on a system; nil if nothing is.
func compiles(ctx context.Context, dir, system string, patterns ...string) error {
	args := append([]string{"list", "-e", "-test", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,DepOnly,Error"}, patterns...)
	list := exec.CommandContext(ctx, "go", args...)
	list.Dir, list.Env, list.Stderr = dir, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), os.Stderr
	out, err := list.Output()
	if err != nil {
		return err
	}
	c := checker{set: token.NewFileSet(), ready: map[string]*types.Package{"unsafe": types.Unsafe}}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return errors.Join(c.wrong...)
		} else if err != nil {
			return err
		}
		switch {
		case p.Error != nil:
			c.note(errors.New(p.Error.Err))
		case p.ImportPath != "unsafe" && !strings.HasSuffix(p.ImportPath, ".test"): // the program of a test is written by the go command
			c.check(p)
		}
	}
}

// A checker has the packages that were checked, and what is wrong with them. The go command names what is needed first, and a
// package with tests twice.
type checker struct {
	set   *token.FileSet
	ready map[string]*types.Package
	wrong []error
}

func (c *checker) note(err error) {
	if !slices.ContainsFunc(c.wrong, func(other error) bool { return other.Error() == err.Error() }) {
		c.wrong = append(c.wrong, err)
	}
}

// check checks one package. Of those that are only needed by others, the bodies of functions do not count.
func (c *checker) check(p *listed) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			c.note(err)
			return
		}
		files = append(files, file)
	}
	config := types.Config{
		Importer: importer(func(path string) (*types.Package, error) {
			if meant, has := p.ImportMap[path]; has {
				path = meant
			}
			if ready := c.ready[path]; ready != nil {
				return ready, nil
			}
			return nil, fmt.Errorf("no package %s", path)
		}),
		Sizes:            types.SizesFor("gc", "amd64"),
		IgnoreFuncBodies: p.DepOnly,
		Error:            c.note,
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")                     // "p [p.test]" is p as its tests see it
	c.ready[p.ImportPath], _ = config.Check(path, c.set, files, nil) // what is wrong was noted
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
