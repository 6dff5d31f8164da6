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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/proof/plant"
)

// A verdict says what has become of a defect. All but the first fail the run.
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

// An outcome is the verdict over one defect, and what speaks for it.
type outcome struct {
	defect
	verdict verdict
	note    string
	output  []string
	took    time.Duration
}

// try plants the defects and says what became of them.
func (s settings) try(ctx context.Context, some []defect, out io.Writer) (err error) {
	scratch, err := os.MkdirTemp(s.scratch, "defects-")
	if err != nil {
		return err
	}
	defer func() {
		if left := removeAll(scratch); err == nil {
			err = left
		}
	}()
	places := make([]place, min(s.jobs, len(some)))
	for i := range places {
		dir := filepath.Join(scratch, strconv.Itoa(i))
		places[i] = place{s.root, filepath.Join(dir, "changed"), filepath.Join(dir, "tmp")}
		if err := errors.Join(os.MkdirAll(places[i].changed, 0o755), os.Mkdir(places[i].tmp, 0o755)); err != nil {
			return err
		}
	}
	broken, err := places[0].unchanged(ctx, some, out)
	if err != nil {
		return err
	}
	outcomes := tryAll(ctx, places, some, broken, out)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted after %d of %d", len(outcomes), len(some))
	}
	return sum(outcomes, out)
}

// removeAll removes a scratch folder; a process that was killed may be in it for a moment yet.
func removeAll(dir string) error {
	var err error
	for range 20 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// A place is where one defect at a time is tried.
type place struct {
	root    string // of the tree, in which nothing is written
	changed string // the folder of the files that stand in for those of the tree
	tmp     string // the folder for what tests need
}

// unchanged runs the tests of the defects on the tree as it is, package by package, and returns what
// is wrong with those that do not pass.
func (p place) unchanged(ctx context.Context, some []defect, out io.Writer) (map[string]outcome, error) {
	byDir := map[string][]defect{}
	for _, d := range some {
		byDir[d.dir] = append(byDir[d.dir], d)
	}
	broken := map[string]outcome{}
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		var patterns []string
		var limit time.Duration
		for _, d := range byDir[dir] {
			if pattern := patternOf(d.test); !slices.Contains(patterns, pattern) {
				patterns = append(patterns, pattern)
				limit += d.limit
			}
		}
		began := time.Now()
		r := runGoTest(ctx, filepath.Join(p.root, dir), strings.Join(patterns, "|"), limit, p.tmp, "")
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted: %w", context.Cause(ctx))
		}
		say(out, "unchanged: %d tests of %s in %v\n", len(patterns), dir, time.Since(began).Round(time.Second))
		for _, d := range byDir[dir] {
			switch o := r.judge(d); o.verdict {
			case survived: // it passes
			case caught:
				o.verdict = brokenBefore
				fallthrough
			default:
				broken[d.name] = o
			}
		}
	}
	return broken, nil
}

// tryAll tries the defects, as many at a time as there are places, until ctx ends.
func tryAll(ctx context.Context, places []place, some []defect, broken map[string]outcome, out io.Writer) []outcome {
	var (
		mu       sync.Mutex
		outcomes []outcome // under mu
		workers  sync.WaitGroup
		todo     = make(chan defect, len(some))
	)
	for _, d := range some {
		todo <- d
	}
	close(todo)
	for _, p := range places {
		workers.Go(func() {
			for d := range todo {
				o, bad := broken[d.name]
				if !bad {
					o = p.try(ctx, d)
				}
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				outcomes = append(outcomes, o)
				say(out, "%-21s  %s  (%s %s, %v)\n", o.verdict, d.name, d.dir, d.test, o.took)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return outcomes
}

// try plants one defect and runs its test.
func (p place) try(ctx context.Context, d defect) outcome {
	overlay, err := p.overlay(d)
	if err != nil {
		return outcome{defect: d, verdict: doesNotApply, note: err.Error()}
	}
	began := time.Now()
	o := runGoTest(ctx, filepath.Join(p.root, d.dir), patternOf(d.test), d.limit, p.tmp, overlay).judge(d)
	o.took = time.Since(began).Round(10 * time.Millisecond)
	return o
}

// overlay writes files that stand in for those of the tree, and the one that tells go of them.
func (p place) overlay(d defect) (file string, err error) {
	changed, err := d.apply(p.root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range changed {
		to := filepath.Join(p.changed, fmt.Sprint(len(replace), "-", filepath.Base(name)))
		replace[filepath.Join(p.root, name)] = to
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return plant.Overlay(p.changed, replace)
}

// judge says what the run of its test means for a defect.
func (r *goTest) judge(d defect) outcome {
	o := outcome{defect: d, output: r.tail(40)}
	reason, skipped := r.skipped(d.test)
	switch state := r.states[d.test]; {
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
	case r.over && !slices.ContainsFunc(r.running, func(test string) bool { return under(test, d.test) }):
		o.verdict, o.note = doesNotEnd, "its time was over, but it was not the test that ran"
	default: // the binary ended while it ran
		o.verdict = caught
	}
	return o
}

// sum says how many defects had which verdict, and shows those that were not caught.
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
	text := fmt.Sprintf("%d defects", len(outcomes))
	for _, v := range slices.Sorted(maps.Keys(count)) {
		text += fmt.Sprintf(", %d %s", count[v], v)
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
