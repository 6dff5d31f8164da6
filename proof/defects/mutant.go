package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// defaultLimit is the time of a test for which no other is named.
const defaultLimit = time.Minute

// A mutant is one defect, and the test that has to notice it.
type mutant struct {
	name  string
	at    string // the file and line where it is written
	why   string
	dir   string // of the package of the test, in the tree
	test  string // perhaps with a subtest
	limit time.Duration
	edits []edit
}

// An edit puts lines of a file in the place of others.
type edit struct {
	file     string // in the tree
	old, new []string
}

// readAll reads every text file of a folder.
func readAll(folder string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	var errs []error
	seen := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		mutants, err := parse(filepath.Base(file), string(text))
		errs = append(errs, err)
		for _, m := range mutants {
			if at, again := seen[m.name]; again {
				errs = append(errs, fmt.Errorf("%s: %s has this name already", m.at, at))
			}
			seen[m.name] = m.at
		}
		all = append(all, mutants...)
	}
	return all, errors.Join(errs...)
}

// A parser reads the mutants of one file.
type parser struct {
	mutants []mutant
	now     *mutant // the one that is being read; nil between two
	at      string
	errs    []error
}

// parse reads a file of mutants; the package comment says what is in it.
func parse(file, text string) ([]mutant, error) {
	p := parser{}
	for i, line := range strings.Split(text, "\n") {
		p.at = fmt.Sprintf("%s:%d", file, i+1)
		p.line(line)
	}
	p.end()
	return p.mutants, errors.Join(p.errs...)
}

func (p *parser) bad(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s: "+format, append([]any{p.at}, args...)...))
}

func (p *parser) line(line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "":
		p.end()
	case p.now == nil && strings.HasPrefix(line, "#"):
	case p.now == nil && word == "mutant":
		p.begin(rest)
	case p.now == nil:
		p.bad("a mutant begins with its name: mutant NAME")
	case line[0] == '-' || line[0] == '+':
		p.edit(line[0], line[1:])
	case word == "why":
		p.why(rest)
	case word == "test":
		p.test(rest)
	case word == "file":
		p.file(rest)
	default:
		p.bad("%q is not known; between two mutants there is a blank line", word)
	}
}

var nameOK = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (p *parser) begin(name string) {
	if !nameOK.MatchString(name) {
		p.bad("the name %q is not made of a-z, 0-9 and single hyphens", name)
	}
	p.now = &mutant{name: name, at: p.at, limit: defaultLimit}
}

func (p *parser) why(text string) {
	if p.now.why != "" || text == "" {
		p.bad("one why, with a text")
	}
	p.now.why = text
}

// testOK is what `go test -run` can be asked for.
var testOK = regexp.MustCompile(`^(Test|Example|Fuzz)[^/\s]*(/[^/\s]+)*$`)

func (p *parser) test(text string) {
	words := strings.Fields(text)
	if p.now.test != "" || len(words) < 2 || len(words) > 3 {
		p.bad("one test, as: test FOLDER NAME, perhaps with a time")
		return
	}
	p.now.dir, p.now.test = words[0], words[1]
	if !filepath.IsLocal(p.now.dir) {
		p.bad("%q is not a folder of the tree", p.now.dir)
	}
	if !testOK.MatchString(p.now.test) {
		p.bad("%q is not the name of a test", p.now.test)
	}
	if len(words) == 3 {
		limit, err := time.ParseDuration(words[2])
		if err != nil || limit <= 0 {
			p.bad("%q is not a time", words[2])
		}
		p.now.limit = limit
	}
}

func (p *parser) file(name string) {
	if !filepath.IsLocal(name) {
		p.bad("%q is not a file of the tree", name)
	}
	p.now.edits = append(p.now.edits, edit{file: name})
}

func (p *parser) edit(mark byte, line string) {
	if len(p.now.edits) == 0 {
		p.bad("no file is named for this line")
		return
	}
	e := &p.now.edits[len(p.now.edits)-1]
	switch {
	case mark == '+':
		e.new = append(e.new, line)
	case len(e.new) > 0:
		p.bad("a second '-' after '+': name the file once more")
	default:
		e.old = append(e.old, line)
	}
}

// end takes in the mutant that was read.
func (p *parser) end() {
	m := p.now
	if m == nil {
		return
	}
	p.now, p.at = nil, m.at
	if m.why == "" || m.test == "" || len(m.edits) == 0 {
		p.bad("%s needs a why, a test and a file", m.name)
	}
	for _, e := range m.edits {
		if len(e.old) == 0 {
			p.bad("%s: no line of %s is named that goes", m.name, e.file)
		} else if slices.Equal(e.old, e.new) {
			p.bad("%s: nothing of %s changes", m.name, e.file)
		}
	}
	p.mutants = append(p.mutants, *m)
}

// apply returns the files of a tree as they are with the mutant, by name. Nothing is written.
func (m mutant) apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.edits {
		text, again := changed[e.file]
		if !again {
			content, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, err
			}
			text = string(content)
		}
		lines := strings.Split(text, "\n")
		first, times := find(lines, e.old)
		if times != 1 {
			return nil, fmt.Errorf("%s: the lines that go are there %d times: %q", e.file, times, e.old[0])
		}
		changed[e.file] = strings.Join(slices.Replace(lines, first, first+len(e.old), e.new...), "\n")
	}
	return changed, nil
}

// find returns where some lines begin among others, and how often they are there.
func find(lines, wanted []string) (first, times int) {
	for i := 0; i+len(wanted) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(wanted)], wanted) {
			first = i
			times++
		}
	}
	return first, times
}
