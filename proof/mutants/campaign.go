package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// A campaign tries mutants on one package with tests after the other.
type campaign struct {
	*library
	tested   []*listed // packages with tests, in the order in which they are tried
	deps     map[string][]string
	jobs     int
	kept     string // where notes are kept
	scratch  string
	ledger   ledger
	out      io.Writer
	binaries map[string]*binary // nil if there can be none

	mu       sync.Mutex
	verdicts map[*defect]verdict
	tried    map[*defect]bool
}

// eachPackage calls fn for one package with tests after the other, with the mutants that are not decided and that it may reach.
// It ends early, which is no error, when ctx ends: what was going on then was ended, and that is no fault of its own.
func (c *campaign) eachPackage(ctx context.Context, wanted []*defect, fn func(p *listed, alive []*defect) error) error {
	for _, p := range c.tested {
		alive := c.alive(wanted, p)
		if len(alive) == 0 {
			continue
		}
		err := fn(p, alive)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // see above
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run tries mutants until each is caught or no test is left. It returns early when ctx ends, or the time is over.
func (c *campaign) run(ctx context.Context, wanted []*defect) error {
	err := c.eachPackage(ctx, wanted, func(p *listed, alive []*defect) error { return c.tryOn(ctx, p, alive) })
	if err != nil || ctx.Err() != nil {
		return err
	}
	for _, m := range wanted {
		if c.verdicts[m] == undecided {
			c.verdicts[m] = uncovered
			if c.tried[m] {
				c.verdicts[m] = survived
			}
			err = errors.Join(err, c.ledger.enter(m, c.verdicts[m]))
		}
	}
	return err
}

// tryOn tries mutants on the tests of one package.
func (c *campaign) tryOn(ctx context.Context, p *listed, alive []*defect) error {
	b, err := c.binary(ctx, p)
	if err != nil || b == nil {
		return err
	}
	began := time.Now()
	count, err := c.tryAll(ctx, b, alive)
	if count > 0 {
		say(c.out, "%s: %d mutants in %v, %d caught\n", c.relative(p.Dir), count, time.Since(began).Round(time.Second),
			len(alive)-len(c.alive(alive, p)))
	}
	return err
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
	useful, err := b.learn(ctx, c.places, c.kept, c.scratch)
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

// tryAll tries mutants, some at a time, and returns how many the tests reach.
func (c *campaign) tryAll(ctx context.Context, b *binary, alive []*defect) (count int, err error) {
	reached := slices.DeleteFunc(slices.Clone(alive), func(m *defect) bool { return len(b.reaching(m)) == 0 })
	return len(reached), c.inParallel(ctx, c.relative(b.of.Dir), reached, func(m *defect) error {
		verdict, err := b.try(ctx, c.library, m, b.reaching(m), c.scratch)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tried[m] = true
		if verdict != survived && verdict != undecided {
			c.verdicts[m] = verdict
			err = errors.Join(err, c.ledger.enter(m, verdict))
		}
		return err
	})
}

// inParallel calls fn for each mutant, for some at a time, and says how far it is.
func (c *campaign) inParallel(ctx context.Context, where string, all []*defect, fn func(m *defect) error) error {
	todo := make(chan *defect)
	failed := make([]error, c.jobs)
	var workers sync.WaitGroup
	for i := range c.jobs {
		workers.Go(func() {
			for m := range todo {
				failed[i] = errors.Join(failed[i], fn(m))
			}
		})
	}
	last := time.Now()
	for i, m := range all {
		select {
		case todo <- m:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		if time.Since(last) > 30*time.Second {
			last = time.Now()
			say(c.out, "%s: %d of %d\n", where, i, len(all))
		}
	}
	close(todo)
	workers.Wait()
	return errors.Join(failed...)
}

// ranks are the packages whose tests are tried first, and last: by the begin of their path, the longest that fits.
var ranks = []struct {
	begin string
	rank  int
}{{"internal/", 0}, {"test/quick", 2}, {"test/hammer", 4}, {"proof/", 5}}

// order puts packages with tests in the order in which they are tried: what is quick comes first.
func (t *tree) order(tested []*listed) {
	rank := func(p *listed) int {
		path := t.relative(p.Dir)
		for _, r := range ranks {
			if strings.HasPrefix(path, r.begin) {
				return r.rank
			}
		}
		if path == "." {
			return 1
		}
		return 3
	}
	slices.SortStableFunc(tested, func(a, b *listed) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.ImportPath, b.ImportPath))
	})
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
			some = append(some, known[imported]...)
		}
		deps[p.ImportPath] = some
	}
	return deps
}

// say writes to whoever looks on; if nobody can be told, the exit status says it.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
