// Levels is the gate of costs: it compares what operations of the tree cost with what they cost in earlier versions, which are
// named in versions.go. A figure that is more than 10 % above that of the version before fails.
//
//	make levels                                   # all kinds of operation, into docs/measurements.md
//	make levels LEVELS="-kinds 'fenced' -rounds 60" # some of them, more closely; the page stays as it is
//	go run ./proof/levels -kinds 'in memory'      # what the client itself costs; with -profiles FOLDER where that goes
//
// A figure is processor time of the server or of the client, time, allocations, bytes to and from the server, or commands on it,
// for each operation. Each version is built as a program of its own, the worker, and has a server of its own. All of them are bound
// to one processor, where one of them works at a time, in alternating blocks; the kinds of operation take turns as well, so that
// what disturbs the machine for a while disturbs a few blocks of each kind. Of the rounds the quietest third counts, and only
// ratios of two blocks of one round are judged. Where the spread hides on which side of its limit a ratio is there is no verdict,
// which is no failure.
//
// Some kinds have another place. Those in memory have a server inside of the worker, see package memory, so that nearly all that is
// measured is the client: at first a real server answers, and then the same answers come without a system call. Those on all processors
// have workers and servers of their own that are bound to none; there the time of the clock is what counts.
//
// Some figures have a limit beside the version old, or beside another kind in the tree. That may be the least script with the same
// reply, or the same work by go-redis alone or by bsm/redislock. Such a limit is an aim, and to miss it is no failure: the page
// counts the aims, and has those that are missed. It has the main figure of each kind; the others are judged as well, and are named
// where they are above their limit.
//
// More commands alone fail nothing where they take the server much less time: one that replies with the score of an entry takes
// as long as four others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/proof/internal/page"
	"github.com/seed-14de3678/redislock/proof/levels/course"
	"github.com/seed-14de3678/redislock/proof/plant"
)

func main() { plant.Main("levels", run) }

// rounds is how many there are. On two processors that others use as well they take two minutes.
const rounds = 24

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("levels", flag.ContinueOnError)
	root := flags.String("root", ".", "the `folder` of the repository")
	names := flags.String("kinds", ".", "measure the kinds whose names match this `regexp`, and what their limits refer to")
	n := flags.Int("rounds", rounds, "measure so many blocks of each kind and version")
	file := flags.String("page", "", "write the tables into this `file`, between their marks, if all kinds are measured")
	profiles := flags.String("profiles", "", "measure nothing, but write a profile of the client in the tree for each kind into this `folder`")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	match, err := regexp.Compile(*names)
	if err != nil {
		return err
	}
	chosen := choose(match)
	if len(chosen) == 0 {
		return fmt.Errorf("no kind matches %s", match)
	}
	versions := []version{tree, before, old}
	if *profiles != "" {
		versions = versions[:1]
	}
	b, err := open(ctx, *root, versions...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if *profiles != "" {
		return b.profile(*profiles, chosen)
	}
	results, err := b.measure(ctx, chosen, *n)
	if err != nil {
		return err
	}
	made, err := b.madeOn(ctx)
	if err != nil {
		return err
	}
	lines := linesOf(results)
	parts := partsOf(lines, made)
	for _, p := range parts {
		fmt.Println(p.Text)
	}
	if *file != "" && len(chosen) == len(course.Kinds) && *n >= rounds {
		if err := page.Rewrite(*file, parts); err != nil {
			return err
		}
	}
	if above := failures(lines); len(above) > 0 {
		return fmt.Errorf("more than %.2f × %s:\n%s", mostAbove, before.name, strings.Join(above, "\n"))
	}
	return nil
}

// choose returns the kinds whose names match, and those that their limits refer to, in their order.
func choose(match *regexp.Regexp) (chosen []int) {
	for i, kind := range course.Kinds {
		if !match.MatchString(kind.Name) {
			continue
		}
		chosen = append(chosen, i)
		for _, limit := range kind.Limits {
			if referred, ok := limit.Beside.Kind(); ok {
				chosen = append(chosen, referred)
			}
		}
	}
	slices.Sort(chosen)
	return slices.Compact(chosen)
}

// partsOf are the parts of the page.
func partsOf(lines []line, made string) []page.Part {
	return []page.Part{
		{Name: "levels", Text: tables(lines) + "\n" + aims(lines)},
		{Name: "levels made", Text: made + besideBefore(lines)},
	}
}

// madeOn says on what the figures were made.
func (b *bench) madeOn(ctx context.Context) (string, error) {
	version, err := b.serverVersion(ctx)
	if err != nil {
		return "", err
	}
	where := "any of them"
	if b.processor != "" {
		where = "one of them"
	}
	return fmt.Sprintf("Made by `make levels`, which fails if a figure is more than %.2f × that of before. Before is %.7s, old is %.7s; "+
		"Redis %s, %s, %d processors, programs and servers on %s.\n",
		mostAbove, before.commit, old.commit, version, runtime.Version(), runtime.NumCPU(), where), nil
}

// absolute is a folder that other programs find from wherever they run.
func absolute(root string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	_, err = os.Stat(filepath.Join(root, "go.work"))
	return root, err
}
