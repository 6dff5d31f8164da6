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
func plantedSources(scripts map[string]int, places int) map[string]string {
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
	known := fmt.Sprintf("package mutant\n\nconst Places = %d\n\nvar scripts = map[string]int{", places)
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

// hookTests has each test of a package say which it is, and returns the texts of its files, and the tests by their rows, which
// begin with 1.
func (t *tree) hookTests(p *listed) (files map[string]string, tests []string, err error) {
	files = map[string]string{}
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		source, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, nil, err
		}
		text := topTest.ReplaceAllStringFunc(string(source), func(head string) string {
			called := topTest.FindStringSubmatch(head)[1]
			if called == "TestMain" {
				return head
			}
			tests = append(tests, called)
			return fmt.Sprintf("%s defer mutant.Test(%d)();", head, len(tests))
		})
		if text != string(source) {
			files[t.relative(filepath.Join(p.Dir, name))] = t.importing(text)
		}
	}
	return files, tests, nil
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
