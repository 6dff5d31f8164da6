package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

// A campaign tries mutants on the tests of one package, or of some, after the other.
type campaign struct {
	*library
	tested   []*listed // packages with tests, in the order in which they are tried
	deps     map[string][]string
	jobs     int
	most     time.Duration // of processor time of tests for a mutant, in each stage; 0: whatever all of them cost
	alone    time.Duration // of that, what it may cost before others are planted beside it
	kept     string        // where notes are kept
	scratch  string
	ledger   ledger
	out      io.Writer
	binaries map[string]*binary // nil if there can be none

	mu       sync.Mutex
	verdicts map[*defect]verdict
	tried    map[*defect]bool
}

// run tries mutants until each is caught or no test is left. It returns early, which is no error, when ctx ends: what was going on
// then was ended, and that is no fault of its own.
func (c *campaign) run(ctx context.Context, wanted []*defect) error {
	for some := range chunksBy(c.tested, c.rank) {
		err := c.tryOn(ctx, some, wanted)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
	var err error
	for _, m := range wanted {
		if c.verdicts[m] == undecided {
			v := uncovered
			if c.tried[m] {
				v = survived
			}
			err = errors.Join(err, c.decide(m, v))
		}
	}
	return err
}

// tryOn tries mutants on the tests of some packages.
func (c *campaign) tryOn(ctx context.Context, some []*listed, wanted []*defect) error {
	s := &stage{campaign: c, past: history{tally: map[string]map[*test]*tally{}}, left: map[*defect][]*test{}}
	var where []string
	for _, p := range some {
		if len(c.alive(wanted, p)) == 0 {
			continue
		}
		b, err := c.binary(ctx, p)
		if err != nil {
			return err
		}
		if b != nil {
			s.tests = append(s.tests, b.tests...)
			where = append(where, c.relative(p.Dir))
		}
	}
	began := time.Now()
	reached := s.reached(wanted)
	if len(reached) == 0 {
		return nil
	}
	name := where[0]
	if len(where) > 1 {
		name += " to " + where[len(where)-1]
	}
	err := s.run(ctx, name, reached)
	say(c.out, "%s: %d mutants in %v, %d caught\n", name, len(reached), time.Since(began).Round(time.Second),
		len(reached)-len(s.reached(reached)))
	return err
}

// reached are the mutants that are not decided, and that a test of the stage reaches.
func (s *stage) reached(wanted []*defect) []*defect {
	return slices.DeleteFunc(slices.Clone(wanted), func(m *defect) bool {
		return s.verdictOf(m) != undecided || !slices.ContainsFunc(s.tests, func(t *test) bool { return t.reach([]*defect{m}) })
	})
}

func (c *campaign) verdictOf(m *defect) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.verdicts[m]
}

// decide keeps a verdict.
func (c *campaign) decide(m *defect, v verdict) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.verdicts[m] = v
	return c.ledger.enter(m, v)
}

// untold keeps that a mutant was tried, and not caught so far.
func (c *campaign) untold(m *defect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried[m] = true
}

// alive returns the mutants that are not decided, and that a package with tests may reach.
func (c *campaign) alive(wanted []*defect, p *listed) []*defect {
	var some []*defect
	for _, m := range wanted {
		if c.verdicts[m] == undecided && slices.Contains(c.deps[p.ImportPath], c.packageOf(m)) {
			some = append(some, m)
		}
	}
	return some
}

// packageOf is the import path of the package that a mutant is in.
func (c *campaign) packageOf(m *defect) string {
	dir := m.folder()
	if dir == "lua" || dir == "." {
		return c.module
	}
	return c.module + "/" + dir
}

// binary returns the tests of a package, which are compiled, and run once without a defect, when they are first wanted.
func (c *campaign) binary(ctx context.Context, p *listed) (*binary, error) {
	if b, is := c.binaries[p.ImportPath]; is {
		return b, nil
	}
	began := time.Now()
	b, err := c.build(ctx, p, c.scratch)
	if err != nil {
		return nil, err
	}
	built := time.Since(began)
	useful, err := b.learn(ctx, c.places, c.jobs, c.kept, c.scratch)
	if err != nil {
		return nil, err
	}
	c.sayLearned(b, built, time.Since(began))
	if !useful {
		say(c.out, "%s: not used: no test passes without a defect\n", c.relative(p.Dir))
		b = nil
	}
	c.binaries[p.ImportPath] = b
	return b, nil
}

// sayLearned says what is known of tests that are used from now on.
func (c *campaign) sayLearned(b *binary, built, all time.Duration) {
	var failing []string
	for _, t := range b.tests {
		if !t.Passes && len(t.Reaches) > 0 {
			failing = append(failing, t.Name)
		}
	}
	dir := c.relative(b.of.Dir)
	say(c.out, "%s: built in %v, %d tests known after %v\n", dir, built.Round(time.Second), len(b.tests), all.Round(time.Second))
	if len(failing) > 0 {
		say(c.out, "%s: skipped, or failing without a defect: %s\n", dir, strings.Join(failing, " "))
	}
}

// inParallel calls fn for each group of mutants, for some at a time, and says how far it is.
func (c *campaign) inParallel(ctx context.Context, where string, all [][]*defect, fn func(group []*defect) error) error {
	last, count := time.Now(), 0
	return each(ctx, c.jobs, all, func(group []*defect) error {
		c.mu.Lock()
		if count++; time.Since(last) > 30*time.Second {
			last = time.Now()
			say(c.out, "%s: %d of %d\n", where, count, len(all))
		}
		c.mu.Unlock()
		return fn(group)
	})
}

// rank is the place of a package with tests in their order: what is quick comes first. Those of one rank are tried together.
func (t *tree) rank(p *listed) int {
	path := t.relative(p.Dir)
	switch {
	case path == "." || strings.HasPrefix(path, "internal/"):
		return 0
	case path == "test/hammer":
		return 2
	case strings.HasPrefix(path, "proof/"):
		return 3
	}
	return 1
}

// order puts packages with tests in the order in which they are tried.
func (t *tree) order(tested []*listed) {
	slices.SortStableFunc(tested, func(a, b *listed) int {
		return cmp.Or(t.rank(a)-t.rank(b), strings.Compare(a.ImportPath, b.ImportPath))
	})
}

// chunksBy are the parts of a list that have the same number.
func chunksBy[T any](all []T, number func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for begin, i := 0, 1; i <= len(all); i++ {
			if i < len(all) && number(all[i]) == number(all[begin]) {
				continue
			}
			if !yield(all[begin:i]) {
				return
			}
			begin = i
		}
	}
}

// depsOf are the packages that the tests of each package have in them.
func depsOf(all []*listed) map[string][]string {
	known := map[string][]string{}
	for _, p := range all {
		known[p.ImportPath] = append(slices.Clone(p.Deps), p.ImportPath)
	}
	deps := map[string][]string{}
	for _, p := range all {
		some := slices.Clone(known[p.ImportPath])
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			some = append(append(some, imported), known[imported]...)
		}
		deps[p.ImportPath] = some
	}
	return deps
}

// say writes to whoever looks on; if nobody can be told, the exit status says it.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
