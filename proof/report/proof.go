package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/proof/page"
)

// wanted are the tests that a page names, and what is known of them.
type wanted struct {
	page     string
	strict   bool // all of them have to run
	tests    []page.Test
	promises []page.Promise         // what the end names, sentence by sentence
	modules  []string               // below the root, by their folders: of each of them some test has to run
	ended    map[page.Test]ending   // all tests that have ended
	parts    map[page.Test][]ending // of those that have subtests
	broken   map[string]bool        // the folders of packages that failed
}

// An ending is how a test ended.
type ending struct {
	ran, failed bool
	why         string // it did not run
}

// readWanted reads the page of a run of all modules, and looks for these below the working directory, or the page of promises of
// a run of the root. Without a page nothing is asked for.
func readWanted(proofs, promises string, strict bool) (*wanted, error) {
	n := &wanted{
		page: proofs + promises, strict: strict,
		ended: map[page.Test]ending{}, parts: map[page.Test][]ending{}, broken: map[string]bool{},
	}
	switch {
	case n.page == "":
		return n, nil
	case proofs != "" && promises != "":
		return nil, errors.New("-proof is for a run of all modules, -promises for one of the root: not both")
	}
	var text strings.Builder
	for name := range strings.SplitSeq(n.page, ",") {
		one, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text.Write(append(one, "\n\n"...))
	}
	read := page.Read(text.String())
	if promises != "" {
		if n.promises = read.Promises; len(n.promises) == 0 {
			return nil, fmt.Errorf("%s quotes no promise", n.page)
		}
		return n, nil
	}
	if n.tests, _ = read.Tests(); len(n.tests) == 0 {
		return nil, fmt.Errorf("%s names no test", n.page)
	}
	var err error
	n.modules, err = modulesIn(".")
	return n, err
}

// modulesIn returns the folders of the modules below a folder. It looks for them by itself, so that whoever starts the tests
// cannot forget one. That the tests of the root run is a matter of the page.
func modulesIn(root string) (folders []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".bin", "testdata"}, d.Name()):
			return filepath.SkipDir
		case d.Name() == "go.mod" && filepath.Dir(path) != root:
			name, err := filepath.Rel(root, filepath.Dir(path))
			folders = append(folders, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	return folders, err
}

// idle are the modules of which no test has ended.
func (n *wanted) idle() (modules []string) {
	for _, m := range n.modules {
		ran := false
		for t := range n.ended {
			ran = ran || t.Folder == m || strings.HasPrefix(t.Folder, m+"/")
		}
		if !ran {
			modules = append(modules, m)
		}
	}
	return modules
}

// ends notes how a test has ended. One whose subtests were all skipped has shown nothing. Of several runs of a test one is enough
// for it to have run, and for it to have failed.
func (n *wanted) ends(t test, e ending) {
	it := page.Test{Folder: folder(t.Package), Name: t.Test}
	if parts := n.parts[it]; parts != nil && e.ran && !e.failed {
		if i := slices.IndexFunc(parts, func(p ending) bool { return p.ran }); i < 0 {
			e = ending{why: parts[0].why}
		}
	}
	before := n.ended[it]
	n.ended[it] = ending{ran: before.ran || e.ran, failed: before.failed || e.failed, why: e.why}
	if i := strings.LastIndexByte(it.Name, '/'); i >= 0 {
		it.Name = it.Name[:i]
		n.parts[it] = append(n.parts[it], e)
	}
}

// breaks notes that a package failed: those of its tests that have not ended never will.
func (n *wanted) breaks(pkg string) { n.broken[folder(pkg)] = true }

// missing says which of the tests did not run, a line each.
func (n *wanted) missing() (lines []string) {
	for _, t := range n.tests {
		if e, ended := n.ended[t]; !ended {
			lines = append(lines, fmt.Sprintf("%s did not run", t))
		} else if !e.ran {
			lines = append(lines, fmt.Sprintf("%s was skipped", t))
		}
	}
	return lines
}

// folder is that of a package, from the root of the repository.
func folder(pkg string) string {
	if strings.Count(pkg, "/") < 3 {
		return "."
	}
	return short(pkg)
}
