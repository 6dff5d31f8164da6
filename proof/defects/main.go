// Defects shows that the tests notice defects: it builds the code with one defect after the other, and
// each time runs the one test that has to fail then. The defects are those that need a sentence: the
// order of two steps, a number of the wrong moment, something that is forgotten on one path of several.
// What can be made by operators, such as a statement left out, is a matter of proof/mutants.
//
//	make defects                                    # all of them: long
//	make defects DEFECTS='^quorum-' PART=2/4 JOBS=2 # the second quarter of those with such names, two at a time
//	make defects LIST=1                             # only say which there are, and whether they apply
//
// They are in the text files beside this one:
//
//	defect quorum-release-waits-for-the-slow
//	why a Release waits until every node has answered
//	test proof/test/quorum TestMinorityFar
//	in quorum/release.go (*Lock).end
//	- r := l.roundOf(locks, &w)
//	+ r := l.roundOf(locks, &w)
//	+ r.every = true
//
// A blank line ends a defect. Outside of defects, lines that begin with '#' are comments. `why` says
// what goes wrong in use. `test` names the folder of the package, `.` for the root, and the test,
// perhaps with a subtest as `go test -v` shows it; a third word such as 20s is its time, 60s if it is
// not there.
//
// `in` names a file and a declaration in it: a function as New, a method as (*Lock).Release or
// keySet.mode, a name that is declared at the top, or import; in Lua a function, or no name for what
// is outside of functions. Only there the text of the lines with '-' is looked for, and has to be found
// exactly once; those with '+', of which there may be none, take its place. The text may be a part of a
// line, or of several, but no part of a word; any white space is as good as any other. So an anchor
// holds if its function moves within the file, or is indented otherwise, or changes elsewhere. A '-'
// behind a '+' begins another change of that function, and another `in` another function.
//
// A defect is planted by go test -overlay: nothing of the tree is written, and what the tests build
// themselves has the defect, too. Files that are read when a test runs, such as pages, cannot have one.
//
// A defect is caught if the test that it names fails, or is still running when its time is over.
// Everything else fails the run: a defect that survives, that does not apply any more, that does not
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
	"path/filepath"
	"regexp"

	"github.com/seed-14de3678/redislock/proof/plant"
)

// settings are what the command line says.
type settings struct {
	root    string         // of the tree
	pattern *regexp.Regexp // of the names that are wanted
	part    plant.Part
	jobs    int // defects at a time
	list    bool
	scratch string // where changed files and what tests need are put; empty: where the system wants them
}

func main() {
	plant.Main("defects", func(ctx context.Context, args []string) error {
		s, err := parseSettings(args, os.Stderr)
		if err != nil {
			return err
		}
		return s.run(ctx, os.Stdout)
	})
}

func parseSettings(args []string, out io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("defects", flag.ContinueOnError)
	flags.SetOutput(out)
	pattern := flags.String("run", "", "a regular expression for the names of the defects")
	s.part = plant.Whole
	flags.Var(&s.part, "part", "which part of them, such as 2/4")
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
	s.root, err = filepath.Abs(".")
	return s, err
}

// run does what the settings say; an error means that something is not as it should be.
func (s settings) run(ctx context.Context, out io.Writer) error {
	all, err := readAll(filepath.Join(s.root, "proof", "defects"))
	if err != nil {
		return err
	}
	some := s.wanted(all)
	if len(some) == 0 {
		return fmt.Errorf("none of %d defects is wanted", len(all))
	}
	if s.list {
		return s.show(some, out)
	}
	return s.try(ctx, some, out)
}

// wanted returns the defects whose names match, as far as they are in the wanted part.
func (s settings) wanted(all []defect) []defect {
	var some []defect
	n := 0
	for _, d := range all {
		if !s.pattern.MatchString(d.name) {
			continue
		}
		if s.part.Has(n) {
			some = append(some, d)
		}
		n++
	}
	return some
}

// show lists the defects, and finds those that do not apply.
func (s settings) show(some []defect, out io.Writer) error {
	bad := 0
	for _, d := range some {
		say(out, "%s: %s\n\t%s: %s %s, %v\n", d.at, d.name, d.why, d.dir, d.test, d.limit)
		if err := d.check(s.root); err != nil {
			bad++
			say(out, "\t%s: %v\n", doesNotApply, err)
		}
	}
	say(out, "%d defects\n", len(some))
	if bad > 0 {
		return fmt.Errorf("%d do not apply", bad)
	}
	return nil
}

// say writes to whoever looks on; if nobody can be told, the exit status says it.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
