package main

import (
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
	page    string
	strict  bool // all of them have to run
	tests   []proof.Test
	modules []string            // below the root, by their folders: of each of them some test has to run
	ended   map[proof.Test]bool // of all tests that have ended: whether they ran
	parts   map[proof.Test]bool // of those that have subtests: whether one of these ran
}

// readWanted reads a page, and looks for the modules below the working directory. Without a page nothing is asked for.
func readWanted(page string, strict bool) (*wanted, error) {
	n := &wanted{page: page, strict: strict, ended: map[proof.Test]bool{}, parts: map[proof.Test]bool{}}
	if page == "" {
		return n, nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	n.tests, _ = proof.Read(string(text)).Tests()
	if len(n.tests) == 0 {
		return nil, fmt.Errorf("%s names no test", page)
	}
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

// ends notes that a test has ended, and whether it was run. A test whose subtests were all skipped has shown nothing.
func (n *wanted) ends(t test, run bool) {
	it := proof.Test{Folder: folder(t.Package), Name: t.Test}
	if partRan, hasParts := n.parts[it]; hasParts {
		run = run && partRan
	}
	n.ended[it] = n.ended[it] || run
	if i := strings.LastIndexByte(it.Name, '/'); i >= 0 {
		it.Name = it.Name[:i]
		n.parts[it] = n.parts[it] || run
	}
}

// missing says which of the tests did not run, a line each.
func (n *wanted) missing() (lines []string) {
	for _, t := range n.tests {
		if ran, ended := n.ended[t]; !ended {
			lines = append(lines, fmt.Sprintf("%s did not run", t))
		} else if !ran {
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
