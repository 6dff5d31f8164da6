package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A defect is one of the list, and the test that has to notice it.
type defect struct {
	name  string
	at    string // the file and line where it is written
	why   string
	dir   string // of the package of the test, in the tree
	test  string // perhaps with a subtest
	limit time.Duration
	edits []edit
}

// readAll reads every text file of a folder.
func readAll(folder string) ([]defect, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []defect
	seen := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parse(filepath.Base(file), string(text))
		if err != nil {
			return nil, err
		}
		for _, d := range some {
			if at, again := seen[d.name]; again {
				return nil, fmt.Errorf("%s: %s has this name already", d.at, at)
			}
			seen[d.name] = d.at
		}
		all = append(all, some...)
	}
	return all, nil
}

var nameOK = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// parse reads a file of defects; the package comment says what is in it.
func parse(file, text string) (all []defect, err error) {
	var d *defect // the one that is being read; nil between two
	for i, line := range strings.Split(text+"\n", "\n") {
		at := fmt.Sprintf("%s:%d", file, i+1)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case d == nil && (line == "" || line[0] == '#'):
		case d == nil && word == "defect" && nameOK.MatchString(rest):
			d = &defect{name: rest, at: at, limit: time.Minute}
		case d == nil:
			err = errors.New("a defect begins with its name, of a-z, 0-9 and single hyphens: defect NAME")
		case line == "":
			err = d.whole()
			all, d = append(all, *d), nil
		default:
			err = d.line(word, rest)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	return all, nil
}

// line takes in a line of a defect.
func (d *defect) line(word, rest string) error {
	switch {
	case word == "why" && rest != "" && d.why == "":
		d.why = rest
	case word == "test" && d.test == "":
		return d.noticedBy(rest)
	case word == "in":
		return d.in(rest)
	case (word == "-" || word == "+") && len(d.edits) > 0:
		d.edit(word, rest)
	default:
		return fmt.Errorf("%q is not known, or not here; between two defects there is a blank line", word)
	}
	return nil
}

// testOK is what `go test -run` can be asked for.
var testOK = regexp.MustCompile(`^(Test|Example|Fuzz)[^/\s]*(/[^/\s]+)*$`)

func (d *defect) noticedBy(text string) (err error) {
	words := strings.Fields(text)
	if len(words) == 3 {
		d.limit, err = time.ParseDuration(words[2])
	}
	if err != nil || d.limit <= 0 || len(words) < 2 || len(words) > 3 || !filepath.IsLocal(words[0]) || !testOK.MatchString(words[1]) {
		return fmt.Errorf("%q is not a folder of the tree and a test, perhaps with a time", text)
	}
	d.dir, d.test = words[0], words[1]
	return nil
}

func (d *defect) in(text string) error {
	file, name, _ := strings.Cut(text, " ")
	lua := filepath.Ext(file) == ".lua"
	if !filepath.IsLocal(file) || !lua && (filepath.Ext(file) != ".go" || name == "") {
		return fmt.Errorf("%q is not a Go file of the tree and a declaration, nor a Lua file", text)
	}
	d.edits = append(d.edits, edit{file: file, name: name})
	return nil
}

func (d *defect) edit(mark, text string) {
	e := &d.edits[len(d.edits)-1]
	if mark == "+" {
		e.new = append(e.new, text)
		return
	}
	if len(e.new) > 0 {
		d.edits = append(d.edits, edit{file: e.file, name: e.name})
		e = &d.edits[len(d.edits)-1]
	}
	e.old = append(e.old, text)
}

// whole says what a defect lacks of which everything was read.
func (d *defect) whole() error {
	if d.why == "" || d.test == "" || len(d.edits) == 0 {
		return fmt.Errorf("%s needs a why, a test and a change", d.name)
	}
	for _, e := range d.edits {
		if old := strings.Fields(strings.Join(e.old, " ")); len(old) == 0 || slices.Equal(old, strings.Fields(strings.Join(e.new, " "))) {
			return fmt.Errorf("%s: nothing of %s changes", d.name, e.file)
		}
	}
	return nil
}

// apply returns the files of a tree as they are with the defect, by name. Nothing is written.
func (d defect) apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range d.edits {
		text, again := changed[e.file]
		if !again {
			content, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, err
			}
			text = string(content)
		}
		text, err := e.apply(text)
		if err != nil {
			return nil, err
		}
		changed[e.file] = text
	}
	return changed, nil
}

// check says what is wrong with a defect, as far as that can be known without running anything.
func (d defect) check(root string) error {
	changed, err := d.apply(root)
	if err != nil {
		return err
	}
	for name, text := range changed {
		if filepath.Ext(name) == ".go" {
			if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution); err != nil {
				return fmt.Errorf("with it: %w", err)
			}
		}
	}
	name, _, _ := strings.Cut(d.test, "/")
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	files, err := filepath.Glob(filepath.Join(root, d.dir, "*_test.go"))
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && declared.Match(content) {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("%s has no test %s", d.dir, name))
}
