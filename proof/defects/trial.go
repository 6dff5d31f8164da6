package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A verdict says what has become of a mutant. All but the first fail the run.
type verdict string

const (
	caught         verdict = "caught"
	survived       verdict = "survived"
	doesNotApply   verdict = "does not apply"
	doesNotCompile verdict = "does not compile"
	notRun         verdict = "test not run"
	skippedTest    verdict = "test skipped"
	doesNotEnd     verdict = "does not end"
	brokenBefore   verdict = "test fails without it"
)

// verdicts in the order in which they are counted.
var verdicts = []verdict{
	caught, survived, doesNotApply, doesNotCompile, notRun, skippedTest, doesNotEnd, brokenBefore,
}

// An outcome is the verdict over one mutant, and what speaks for it.
type outcome struct {
	mutant
	verdict verdict
	note    string
	output  []string
	took    time.Duration
}

// try runs the mutants and says what became of them.
func (s settings) try(ctx context.Context, mutants []mutant, out io.Writer) (err error) {
	scratch, err := os.MkdirTemp(s.scratch, "mutants-")
	if err != nil {
		return err
	}
	defer func() {
		if left := removeAll(scratch); err == nil {
			err = left
		}
	}()
	places := make([]place, min(s.jobs, len(mutants)))
	for i := range places {
		if places[i], err = newPlace(ctx, s.root, scratch, i); err != nil {
			return err
		}
	}
	broken, err := places[0].unchanged(ctx, mutants, out)
	if err != nil {
		return err
	}
	outcomes, err := tryAll(ctx, places, mutants, broken, out)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted after %d of %d", len(outcomes), len(mutants))
	case err != nil:
		return err
	}
	return sum(outcomes, out)
}

// A place is a copy of the tree in which one mutant at a time is tried.
type place struct {
	tree, tmp string
}

func newPlace(ctx context.Context, root, scratch string, i int) (place, error) {
	p := place{filepath.Join(scratch, fmt.Sprint("tree-", i)), filepath.Join(scratch, fmt.Sprint("tmp-", i))}
	if err := os.Mkdir(p.tmp, 0o755); err != nil {
		return p, err
	}
	return p, copyTree(ctx, root, p.tree)
}

// unchanged runs the tests of the mutants on the tree as it is, package by package, and returns what
// is wrong with those that do not pass.
func (p place) unchanged(ctx context.Context, mutants []mutant, out io.Writer) (map[string]outcome, error) {
	byDir := map[string][]mutant{}
	for _, m := range mutants {
		byDir[m.dir] = append(byDir[m.dir], m)
	}
	broken := map[string]outcome{}
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		var patterns []string
		var limit time.Duration
		for _, m := range byDir[dir] {
			if pattern := patternOf(m.test); !slices.Contains(patterns, pattern) {
				patterns = append(patterns, pattern)
				limit += m.limit
			}
		}
		began := time.Now()
		r := runGoTest(ctx, filepath.Join(p.tree, dir), strings.Join(patterns, "|"), limit, p.tmp)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted: %w", context.Cause(ctx))
		}
		say(out, "unchanged: %d tests of %s in %v\n", len(patterns), dir, round(time.Since(began)))
		for _, m := range byDir[dir] {
			switch o := r.judge(m); o.verdict {
			case survived: // it passes
			case caught:
				o.verdict = brokenBefore
				fallthrough
			default:
				broken[m.name] = o
			}
		}
	}
	return broken, nil
}

// tryAll tries the mutants, as many at a time as there are places, until ctx ends.
func tryAll(ctx context.Context, places []place, mutants []mutant, broken map[string]outcome, out io.Writer) ([]outcome, error) {
	var (
		mu       sync.Mutex
		outcomes []outcome // under mu
		errs     []error   // under mu
		workers  sync.WaitGroup
		todo     = make(chan mutant, len(mutants))
	)
	for _, m := range mutants {
		todo <- m
	}
	close(todo)
	for _, p := range places {
		workers.Go(func() {
			for m := range todo {
				o, bad := broken[m.name]
				var err error
				if !bad {
					o, err = p.try(ctx, m)
				}
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				if err == nil {
					outcomes = append(outcomes, o)
					say(out, "%-21s  %s  (%s %s, %v)\n", o.verdict, m.name, m.dir, m.test, round(o.took))
				}
				errs = append(errs, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	workers.Wait()
	return outcomes, errors.Join(errs...)
}

// try plants one mutant, runs its test, and takes it out again. After an error the place is of no more
// use: what comes next would be tried with two defects.
func (p place) try(ctx context.Context, m mutant) (outcome, error) {
	restore, err := m.plant(p.tree)
	if err != nil {
		return outcome{mutant: m, verdict: doesNotApply, note: err.Error()}, nil //nolint:nilerr // it is the outcome
	}
	began := time.Now()
	o := runGoTest(ctx, filepath.Join(p.tree, m.dir), patternOf(m.test), m.limit, p.tmp).judge(m)
	o.took = time.Since(began)
	return o, restore()
}

// judge says what the run of its test means for a mutant.
func (r *goTest) judge(m mutant) outcome {
	o := outcome{mutant: m, output: r.tail(40)}
	reason, skipped := r.skipped(m.test)
	switch state := r.states[m.test]; {
	case r.broken:
		o.verdict = doesNotCompile
	case state == "fail":
		o.verdict = caught
	case state == "" && r.stuck:
		o.verdict = doesNotEnd
	case state == "":
		o.verdict, o.note = notRun, "there is no such test, or it was not reached"
	case skipped:
		o.verdict, o.note = skippedTest, reason
	case state == "pass":
		o.verdict = survived
		if r.err != nil {
			o.note = "but something beside the test failed"
		}
	case r.stuck:
		o.verdict, o.note = doesNotEnd, "its time was over, and yet it had to be killed"
	case r.over && !slices.ContainsFunc(r.running, func(test string) bool { return under(test, m.test) }):
		o.verdict, o.note = doesNotEnd, "its time was over, but it was not the test that ran"
	default: // the binary ended while it ran
		o.verdict = caught
	}
	return o
}

// sum says how many mutants had which verdict, and shows those that were not caught.
func sum(outcomes []outcome, out io.Writer) error {
	count := map[verdict]int{}
	for _, o := range outcomes {
		count[o.verdict]++
		if o.verdict == caught {
			continue
		}
		say(out, "\n%s: %s (%s)\n\t%s\n\t%s %s\n", o.verdict, o.name, o.at, o.why, o.dir, o.test)
		if o.note != "" {
			say(out, "\t%s\n", o.note)
		}
		if o.verdict != survived {
			for _, line := range o.output {
				say(out, "\t| %s\n", line)
			}
		}
	}
	text := fmt.Sprintf("%d mutants", len(outcomes))
	for _, v := range verdicts {
		if count[v] > 0 {
			text += fmt.Sprintf(", %d %s", count[v], v)
		}
	}
	say(out, "\n%s\n", text)
	for _, o := range outcomes {
		if o.verdict == survived {
			say(out, "survivor: %s\n", o.name)
		}
	}
	if bad := len(outcomes) - count[caught]; bad > 0 {
		return fmt.Errorf("%d of %d are not caught", bad, len(outcomes))
	}
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
