package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

// walks are what the walker does, and how limits calls them.
var walks = []struct{ name, figure string }{
	{"free", "free key"}, {"line", "mixed set in line"}, {"reply", "reply of a Release lost"}, {"loss", "renewal finds the loss"},
}

// runs is how often each walk is done. What chance has entered in one of them is most likely not in all of them.
const runs = 3

const walkerPackage = module + "/proof/layout/walker"

// A function of the library.
type function struct{ file, name string }

// A route is what a walk has entered in each of its runs.
type route map[function]bool

// files are the files of a route, each with its functions, in order.
func (r route) files() map[string][]string {
	files := map[string][]string{}
	for f := range r {
		files[f.file] = append(files[f.file], f.name)
	}
	for _, names := range files {
		slices.Sort(names)
	}
	return files
}

// byTheClock is what enters a route on a slow machine alone: a timer calls it when a second is over, whatever the walk does.
var byTheClock = function{"internal/wire/workers.go", "*workers.sweep"}

// inAll returns what is in all routes.
func inAll(routes []route) route {
	common := maps.Clone(routes[0])
	delete(common, byTheClock)
	for _, r := range routes[1:] {
		maps.DeleteFunc(common, func(f function, _ bool) bool { return !r[f] })
	}
	return common
}

// A ground has what all walks need.
type ground struct {
	*tree
	dir     string // removed when they are done
	walker  string // the program
	covdata string // the tool of Go that reads counters
	address string // of the server
}

// walk does all walks at once, and returns what each has entered, by the name of its figure.
func (t *tree) walk(ctx context.Context) (_ map[string]route, err error) {
	g := ground{tree: t}
	if g.dir, err = os.MkdirTemp("", "layout"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(g.dir)) }()
	if err := g.build(ctx); err != nil {
		return nil, err
	}
	server, err := redistest.Launch(redistest.Redis)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	g.address = server.Addr()
	routes, errs := make([]route, len(walks)*runs), make([]error, len(walks)*runs)
	var wg sync.WaitGroup
	for i := range routes {
		wg.Go(func() { routes[i], errs[i] = g.walkOnce(ctx, walks[i/runs].name, i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	found := map[string]route{}
	for i, w := range walks {
		found[w.figure] = inAll(routes[i*runs : (i+1)*runs])
	}
	return found, nil
}

// build builds the walker, and the tool that reads what it writes.
func (g *ground) build(ctx context.Context) error {
	counted := []string{walkerPackage}
	for _, p := range g.core {
		counted = append(counted, p.ImportPath)
	}
	g.walker = filepath.Join(g.dir, "walker")
	_, err := g.output(ctx, "go", "build", "-o", g.walker, "-ldflags=-s -w",
		"-cover", "-covermode=atomic", "-coverpkg="+strings.Join(counted, ","), walkerPackage)
	if err != nil {
		return err
	}
	tool, err := g.output(ctx, "go", "tool", "-n", "covdata")
	g.covdata = strings.TrimSpace(string(tool))
	return err
}

// walkOnce does a walk with keys of its own.
func (g *ground) walkOnce(ctx context.Context, name string, number int) (route, error) {
	keys := fmt.Sprintf("%s%d", name, number)
	counters, rest := filepath.Join(g.dir, keys), filepath.Join(g.dir, "rest")
	if err := errors.Join(os.MkdirAll(counters, 0o755), os.MkdirAll(rest, 0o755)); err != nil {
		return nil, err
	}
	// The program needs a folder for what it writes when it ends, which is of no use.
	if _, err := g.output(ctx, "env", "GOCOVERDIR="+rest, g.walker, name, g.address, keys, counters); err != nil {
		return nil, err
	}
	out, err := g.output(ctx, g.covdata, "func", "-i="+counters)
	if err != nil {
		return nil, err
	}
	entered, err := readRoute(string(out))
	if err == nil && len(entered) == 0 {
		err = errors.New("no function was entered")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return entered, nil
}

// readRoute reads what covdata says of functions: the place of each, its name, and how much of it was entered.
func readRoute(text string) (route, error) {
	r := route{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, fmt.Errorf("covdata: not a place, a name and a percentage: %q", line)
		}
		place, _, _ := strings.Cut(words[0], ".go:")
		file, ours := strings.CutPrefix(place, module+"/")
		if ours && words[2] != "0.0%" && path.Join(module, path.Dir(file)) != walkerPackage {
			r[function{file + ".go", words[1]}] = true
		}
	}
	return r, nil
}

// addTo adds the figures of walks.
func addTo(f figures, routes map[string]route) {
	for name, r := range routes {
		f[name+": functions"], f[name+": files"] = len(r), len(r.files())
	}
}

// list shows where walks lead.
func list(routes map[string]route) string {
	var b strings.Builder
	for _, w := range walks {
		files := routes[w.figure].files()
		fmt.Fprintf(&b, "%s: %d functions, %d files\n", w.figure, len(routes[w.figure]), len(files))
		byFolder := func(a, b string) int {
			return cmp.Or(cmp.Compare(path.Dir(a), path.Dir(b)), cmp.Compare(a, b))
		}
		for _, file := range slices.SortedFunc(maps.Keys(files), byFolder) {
			fmt.Fprintf(&b, "  %s: %s\n", file, strings.Join(files[file], " "))
		}
		b.WriteString("\n")
	}
	return b.String()
}
