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

// defaultLimit is the time of a test for which no other is named.
const defaultLimit = time.Minute

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
	var errs []error
	seen := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parse(filepath.Base(file), string(text))
		errs = append(errs, err)
		for _, d := range some {
			if at, again := seen[d.name]; again {
				errs = append(errs, fmt.Errorf("%s: %s has this name already", d.at, at))
			}
			seen[d.name] = d.at
		}
		all = append(all, some...)
	}
	return all, errors.Join(errs...)
}

// A reader reads the defects of one file.
type reader struct {
	defects []defect
	now     *defect // the one that is being read; nil between two
	at      string
	errs    []error
}

// parse reads a file of defects; the package comment says what is in it.
func parse(file, text string) ([]defect, error) {
	r := reader{}
	for i, line := range strings.Split(text, "\n") {
		r.at = fmt.Sprintf("%s:%d", file, i+1)
		r.line(line)
	}
	r.end()
	return r.defects, errors.Join(r.errs...)
}

func (r *reader) bad(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: "+format, append([]any{r.at}, args...)...))
}

func (r *reader) line(line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "":
		r.end()
	case r.now == nil && line[0] == '#':
	case r.now == nil && word == "defect":
		r.begin(rest)
	case r.now == nil:
		r.bad("a defect begins with its name: defect NAME")
	case (word == "-" || word == "+") && len(r.now.edits) > 0:
		r.edit(word, rest)
	case word == "why" && rest != "" && r.now.why == "":
		r.now.why = rest
	case word == "test":
		r.test(rest)
	case word == "in":
		r.in(rest)
	default:
		r.bad("%q is not known, or not here; between two defects there is a blank line", word)
	}
}

var nameOK = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (r *reader) begin(name string) {
	if !nameOK.MatchString(name) {
		r.bad("the name %q is not made of a-z, 0-9 and single hyphens", name)
	}
	r.now = &defect{name: name, at: r.at, limit: defaultLimit}
}

// testOK is what `go test -run` can be asked for.
var testOK = regexp.MustCompile(`^(Test|Example|Fuzz)[^/\s]*(/[^/\s]+)*$`)

func (r *reader) test(text string) {
	words := strings.Fields(text)
	if r.now.test != "" || len(words) < 2 || len(words) > 3 {
		r.bad("one test, as: test FOLDER NAME, perhaps with a time")
		return
	}
	r.now.dir, r.now.test = words[0], words[1]
	if !filepath.IsLocal(r.now.dir) {
		r.bad("%q is not a folder of the tree", r.now.dir)
	}
	if !testOK.MatchString(r.now.test) {
		r.bad("%q is not the name of a test", r.now.test)
	}
	if len(words) == 3 {
		limit, err := time.ParseDuration(words[2])
		if err != nil || limit <= 0 {
			r.bad("%q is not a time", words[2])
		}
		r.now.limit = limit
	}
}

func (r *reader) in(text string) {
	file, name, _ := strings.Cut(text, " ")
	lua := filepath.Ext(file) == ".lua"
	if !filepath.IsLocal(file) || !lua && (filepath.Ext(file) != ".go" || name == "") {
		r.bad("%q is not a Go file of the tree and a declaration, nor a Lua file", text)
	}
	r.now.edits = append(r.now.edits, edit{file: file, name: name})
}

func (r *reader) edit(mark, text string) {
	e := &r.now.edits[len(r.now.edits)-1]
	if mark == "-" && len(e.new) > 0 {
		r.now.edits = append(r.now.edits, edit{file: e.file, name: e.name})
		e = &r.now.edits[len(r.now.edits)-1]
	}
	if mark == "+" {
		e.new = append(e.new, text)
	} else {
		e.old = append(e.old, text)
	}
}

// end takes in the defect that was read.
func (r *reader) end() {
	d := r.now
	if d == nil {
		return
	}
	r.now, r.at = nil, d.at
	if d.why == "" || d.test == "" || len(d.edits) == 0 {
		r.bad("%s needs a why, a test and a change", d.name)
	}
	for _, e := range d.edits {
		if old := strings.Fields(strings.Join(e.old, " ")); len(old) == 0 || slices.Equal(old, strings.Fields(strings.Join(e.new, " "))) {
			r.bad("%s: nothing of %s changes", d.name, e.file)
		}
	}
	r.defects = append(r.defects, *d)
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
