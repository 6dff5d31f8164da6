package main

import (
	"embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed mutant/*.go
var plantedFiles embed.FS

// plantedSources are the files of the package that the wrapped sources import, with the numbers of the scripts.
func plantedSources(scripts map[string]int) map[string]string {
	all := map[string]string{}
	entries, err := plantedFiles.ReadDir("mutant")
	if err != nil {
		panic(err) // they are in the binary
	}
	for _, e := range entries {
		text, err := plantedFiles.ReadFile("mutant/" + e.Name())
		if err != nil {
			panic(err)
		}
		if !strings.HasSuffix(e.Name(), "_test.go") {
			all[e.Name()] = string(text)
		}
	}
	known := "package mutant\n\nvar scripts = map[string]int{"
	for _, called := range slices.Sorted(maps.Keys(scripts)) {
		known += fmt.Sprintf("%q: %d, ", called, scripts[called])
	}
	all["known.go"] = known + "}\n"
	return all
}

var (
	packageClause = regexp.MustCompile(`(?m)^package \w+`)
	topTest       = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\((?:\w+ \*testing\.[TF])?\) \{`)
	sourceOf      = regexp.MustCompile(`(?m)^func SourceOf\(name string\) string \{`)
)

// testsOf are the names of the tests of a package.
func (p *listed) testsOf() (tests []string, err error) {
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		source, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		for _, m := range topTest.FindAllStringSubmatch(string(source), -1) {
			if m[1] != "TestMain" {
				tests = append(tests, m[1])
			}
		}
	}
	return tests, nil
}

// hookRigs has the function by which tests get the text of a script note it.
func (t *tree) hookRigs(files map[string]string) error {
	paths, err := filepath.Glob(filepath.Join(t.root, "internal", "check", "*.go"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if text := sourceOf.ReplaceAllString(string(source), "$0 mutant.Sent(name);"); text != string(source) {
			files[t.relative(path)] = t.importing(text)
		}
	}
	return nil
}

// importing has a file import the package that is not there.
func (t *tree) importing(text string) string {
	at := packageClause.FindStringIndex(text)
	return text[:at[1]] + "; import mutant \"" + t.module + "/" + plantedAt + "\"" + text[at[1]:]
}
