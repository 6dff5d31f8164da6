// Mutants shows which defects the tests do not notice. It makes defects by rules, in the library's Go and in its Lua, and runs for
// each of them the tests that reach its place, until one fails.
//
//	make mutants IN='internal/wire|release.go'   # those of files whose paths match
//	make mutants ONLY='0c1b2a|9f8e7d'            # those of which the hashes are known
//	make mutants PART=2/4                        # the second quarter
//	make mutants SAMPLE=200 SEED=7               # some, chosen by chance
//	make mutants CHANGED=main                    # those of lines that were changed since the branch began
//	make mutants EACH='test/quick TestLate'      # what of these tests each one notices, and which are not needed beside the others
//	make mutants LEDGER=.bin/verdicts FOR=1h     # for an hour, and the next time from there on
//	make mutants LIST=1                          # only say which there are
//	make mutants-changed                         # what the gate runs: those of changed lines, then a sample
//
// A rule deletes a statement; negates a condition, or has a branch never be taken; swaps operands; makes a constant more or less;
// leaves out an argument or a field; or returns at the begin of a function. The files are these:
//
//	tree.go, library.go            the library, its types, its sources with all mutants in them
//	place.go                       one defect, and its hash
//	goplaces, gostmts, goexprs,
//	constants.go                   the rules for Go
//	luaparser, luaexprs            the rules for Lua, whose tokens are those of proof/internal/lua
//	scripts.go                     which scripts there are, and which files are in them
//	wrap.go, overlay.go, mutant/   how all mutants get into one binary
//	binary.go, trial.go            the tests of a package, what they reach, and some of them with mutants
//	stage.go                       which tests come first for a mutant, and mutants that are planted together
//	choice.go, campaign.go         which are tried, and in which order
//	compare.go                     tests that are compared with one another
//	report.go, ledger.go           what is said of them, and what is kept
//	changed.go, equivalent.go      lines that were changed; defects of which nothing can be seen
//
// Nothing in the tree is changed. Each place is wrapped in a copy of its file, `if cond` becomes `if mutant.Cond(17, cond)`, and
// the go command is told by -overlay to compile the copies. So there is one binary for the tests of each package, with every
// mutant in it, and the environment of the process says which of them is on. It says as well from where Lua is read. The first
// run of each test has no defect: it notes what the test costs and which places it reaches. That is kept in .bin/mutants, under the
// hash of the binary.
//
// A mutant is caught if a test fails, or takes much longer than without it. The tests of the packages of the root are tried
// first, then those of proof/test, of the matrix and of the model server. MOST=2s says how much processor time of tests a mutant
// may cost at each of these stages: the most likely tests come first, by what they have noticed of the same function and file.
// Most of the mutants that are left after a third of a second are noticed by no test, so from then on eight are planted at once,
// of different functions; only if a test fails are they told apart. One may hide another: it is then said to have survived. What
// survives is shown with a hash. If nothing can be seen of the defect, whatever the test, a line in equivalent.txt says so: the
// hash, and why. The hash is made of the statement and those beside it, so that it is another one if the code is. Places that
// cannot be wrapped are counted as not made, with the reason.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/plant"
)

// settings are what the command line says.
type settings struct {
	root   string         // of the tree
	in     *regexp.Regexp // paths of files
	only   *regexp.Regexp // hashes
	tests  *regexp.Regexp // paths of packages with tests
	part   plant.Part
	sample int // how many; negative: all
	seed   uint64
	branch string // changed since then; empty: everything
	list   bool
	stale  bool
	strict bool
	wide   bool
	jobs   int
	within time.Duration  // 0: as long as it takes
	most   time.Duration  // of processor time for a mutant, in each stage; 0: whatever all tests cost
	alone  time.Duration  // of that, what it may cost before others are planted beside it
	each   *regexp.Regexp // tests that are compared with one another; nil: none
	ledger string         // the file in which verdicts are kept; empty: none
}

func main() {
	plant.Main("mutants", func(ctx context.Context, args []string) error {
		s, err := parseSettings(args, os.Stderr)
		if err != nil {
			return err
		}
		return s.run(ctx, os.Stdout)
	})
}

// jobsOfProcessor is how many mutants are tried at a time for each processor: many of them only have a test wait for what never comes.
const jobsOfProcessor = 6

func parseSettings(args []string, out io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&s.root, "root", ".", "the tree")
	in := flags.String("in", "", "a regular expression for the paths of files")
	only := flags.String("only", "", "a regular expression for the hashes of mutants")
	tests := flags.String("tests", "", "a regular expression for the paths of the packages whose tests are run")
	s.part, s.alone = plant.Whole, aloneFor
	flags.Var(&s.part, "part", "which part of the mutants, such as 2/4")
	flags.IntVar(&s.sample, "sample", -1, "how many, chosen by chance; with -changed: of those that are not changed")
	flags.Uint64Var(&s.seed, "seed", 0, "of the sample; 0: another one each time")
	flags.StringVar(&s.branch, "changed", "", "only on lines that were changed since the work tree left this branch")
	flags.BoolVar(&s.list, "list", false, "only say which there are")
	flags.BoolVar(&s.stale, "stale", false, "only say which lines of equivalent.txt are about no mutant any more")
	flags.BoolVar(&s.strict, "strict", false, "survivors fail the run, as they do with -changed")
	flags.BoolVar(&s.wide, "wide", true, "what survives the tests of the root is tried on those of proof/test")
	flags.IntVar(&s.jobs, "jobs", jobsOfProcessor*runtime.NumCPU(), "how many at a time")
	flags.DurationVar(&s.most, "most", 0, "how much processor time of tests a mutant may cost in each stage; 0: whatever all of them cost")
	each := flags.String("each", "", "compare the tests with one another whose folder and name, as in \"multi TestLeave\", match this")
	flags.StringVar(&s.ledger, "ledger", "", "a file in which verdicts are kept: what is decided there is not tried again")
	flags.DurationVar(&s.within, "for", 0, "how long it may take, a third of it for a sample beside changed lines; 0: as long as it takes")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 || s.jobs < 1 {
		return s, errors.New("flags only, and at least one at a time")
	}
	if s.in, err = regexp.Compile(*in); err != nil {
		return s, err
	}
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, err
	}
	if s.tests, err = regexp.Compile(*tests); err != nil {
		return s, err
	}
	if *each != "" {
		if s.each, err = regexp.Compile(*each); err != nil {
			return s, err
		}
	}
	if s.seed == 0 {
		s.seed = rand.Uint64N(1e6)
	}
	return s, nil
}

// run does what the settings say; an error means that something is not as it should be.
func (s settings) run(ctx context.Context, out io.Writer) (err error) {
	limited := ctx
	if s.within > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, s.within)
		defer cancel()
	}
	t, of, tested, err := openTree(ctx, s.root)
	if err != nil {
		return err
	}
	l, err := t.read(of)
	if err != nil {
		return err
	}
	known, err := readEquivalents(filepath.Join(t.root, "proof", "mutants", "equivalent.txt"))
	if err != nil {
		return err
	}
	if s.stale {
		return sayStale(known.stale(l.mutants))
	}
	must, may := s.choose(ctx, l, out)
	if s.list {
		for _, m := range append(must, may...) {
			l.show(out, m, "mutant")
		}
		reasons(out, l.skipped)
		return nil
	}
	if tested, err = s.packages(ctx, l, tested); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	c := s.newCampaign(l, tested, scratch, out)
	if s.each != nil {
		err = s.compare(limited, c, slices.Concat(must, may))
	} else {
		err = s.try(limited, c, known, must, may)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

func sayStale(gone []string) error {
	if len(gone) > 0 {
		return fmt.Errorf("equivalent.txt: of no mutant any more: %s", strings.Join(gone, " "))
	}
	return nil
}
