// Defects shows that the tests notice defects: it plants one defect after the other in a copy of the
// tree, and each time runs the one test that has to fail then.
//
//	make mutants                    # all of them: long
//	make mutants MUTANTS='^line-'   # those whose names match
//	make mutants PART=2/4           # the second quarter
//	make mutants JOBS=2             # two at a time
//	make mutants LIST=1             # only say which there are, and whether they apply
//
// The defects are in the text files beside this one:
//
//	mutant batch-last-key-without-ttl
//	why a set that is obtained together with others keeps its last key for ever
//	test . TestBatchEveryKeyHasTTL
//	file batch.lua
//	-  for i = first, last do
//	-    call('pexpire', keys[i], ttl)
//	+  for i = first, last - 1 do
//	+    call('pexpire', keys[i], ttl)
//
// A blank line ends a mutant. Outside of mutants, lines that begin with '#' are comments. `why` says
// what goes wrong in use. `test` names the folder of the package, `.` for the root, and the test,
// perhaps with a subtest as `go test -v` shows it; a third word such as 20s is its time, 60s if it is
// not there. Below `file` the lines with '-' stand in the file as they are here, one after the other
// and nowhere else in it; those with '+' take their place, and there may be none. A mutant may change
// several files.
//
// A mutant is caught if the test that it names fails, or is still running when its time is over.
// Everything else fails the run: a mutant that survives, that does not apply any more, that does not
// compile, whose test is not there or is skipped. Before all that the tests run once on the tree as
// it is, where they have to pass: otherwise their failure says nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// settings are what the command line says.
type settings struct {
	root    string         // of the tree
	pattern *regexp.Regexp // of the names that are wanted
	part    int            // of parts, from 1
	parts   int
	jobs    int // mutants at a time
	list    bool
	scratch string // where copies are made; empty: where the system wants them
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	s, err := parseSettings(os.Args[1:], os.Stderr)
	if err == nil {
		err = s.run(ctx, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func parseSettings(args []string, out io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&s.root, "root", ".", "the tree")
	pattern := flags.String("run", "", "a regular expression for the names of the mutants")
	part := flags.String("part", "1/1", "which part of them, such as 2/4")
	flags.IntVar(&s.jobs, "jobs", 1, "how many at a time")
	flags.BoolVar(&s.list, "list", false, "only say which there are")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 || s.jobs < 1 {
		return s, errors.New("flags only, and at least one at a time")
	}
	if s.pattern, err = regexp.Compile(*pattern); err != nil {
		return s, err
	}
	s.part, s.parts, err = parsePart(*part)
	return s, err
}

// parsePart reads a text such as 2/4.
func parsePart(text string) (part, parts int, err error) {
	first, second, _ := strings.Cut(text, "/")
	part, err1 := strconv.Atoi(first)
	parts, err2 := strconv.Atoi(second)
	if err1 != nil || err2 != nil || part < 1 || part > parts {
		return 0, 0, fmt.Errorf("part %q: it has to be such as 2/4", text)
	}
	return part, parts, nil
}

// run does what the settings say; an error means that something is not as it should be.
func (s settings) run(ctx context.Context, out io.Writer) error {
	all, err := readAll(filepath.Join(s.root, "proof", "defects"))
	if err != nil {
		return err
	}
	mutants := s.wanted(all)
	if len(mutants) == 0 {
		return fmt.Errorf("none of %d mutants is wanted", len(all))
	}
	if s.list {
		return s.show(mutants, out)
	}
	return s.try(ctx, mutants, out)
}

// wanted returns the mutants whose names match, as far as they are in the wanted part: every fourth,
// say, so that the parts take about as long.
func (s settings) wanted(all []mutant) []mutant {
	var some []mutant
	n := 0
	for _, m := range all {
		if !s.pattern.MatchString(m.name) {
			continue
		}
		if n%s.parts == s.part-1 {
			some = append(some, m)
		}
		n++
	}
	return some
}

// show lists the mutants, and finds those that do not apply.
func (s settings) show(mutants []mutant, out io.Writer) error {
	bad := 0
	for _, m := range mutants {
		say(out, "%s: %s\n\t%s: %s %s, %v\n", m.at, m.name, m.why, m.dir, m.test, m.limit)
		if _, err := m.apply(s.root); err != nil {
			bad++
			say(out, "\t%s: %v\n", doesNotApply, err)
		}
	}
	say(out, "%d mutants\n", len(mutants))
	if bad > 0 {
		return fmt.Errorf("%d do not apply", bad)
	}
	return nil
}

// say writes to whoever looks on; if nobody can be told, the exit status says it.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
