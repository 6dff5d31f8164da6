package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// choose returns the mutants that have to be caught, and those that are tried, and reported, only.
func (s settings) choose(ctx context.Context, l *library, out io.Writer) (must, may []*defect) {
	var rest []*defect
	n := 0
	for _, m := range l.mutants {
		if !s.in.MatchString(m.file) || !s.only.MatchString(m.hash) {
			continue
		}
		if s.part.Has(n) {
			rest = append(rest, m)
		}
		n++
	}
	if s.branch == "" {
		return nil, s.chosen(rest, s.sample, out)
	}
	lines, err := l.changed(ctx, s.branch)
	if err != nil {
		say(out, "not tried: what was changed: there is no history to compare with: %v\n", err)
	}
	for _, m := range rest {
		if lines.has(m) {
			must = append(must, m)
		}
	}
	rest = slices.DeleteFunc(rest, lines.has)
	say(out, "%d mutants on lines that were changed\n", len(must))
	return must, s.chosen(rest, max(0, s.sample), out)
}

// chosen returns some mutants by chance, all if n is negative.
func (s settings) chosen(all []*defect, n int, out io.Writer) []*defect {
	if n < 0 || n >= len(all) {
		return all
	}
	random := rand.New(rand.NewPCG(s.seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	say(out, "a sample of %d of %d mutants: -seed %d\n", n, len(all), s.seed)
	return all[:n]
}

// packages returns those whose tests are run, in their order.
func (s settings) packages(ctx context.Context, l *library, tested []*listed) ([]*listed, error) {
	if _, err := os.Stat(filepath.Join(l.root, "proof", "test")); err == nil && s.wide {
		more, err := l.list(ctx, "./proof/test/...", "./proof/matrix", "./proof/server")
		if err != nil {
			return nil, err
		}
		tested = append(tested, more...)
	}
	l.order(tested)
	return tested, nil
}

func (s settings) newCampaign(l *library, tested []*listed, scratch string, out io.Writer) *campaign {
	run := slices.DeleteFunc(slices.Clone(tested), func(p *listed) bool { return !s.tests.MatchString(l.relative(p.Dir)) })
	return &campaign{
		library: l, tested: run, jobs: s.jobs, most: s.most, alone: s.alone, kept: filepath.Join(l.root, ".bin", "mutants"), scratch: scratch, out: out,
		deps: depsOf(tested), binaries: map[string]*binary{}, verdicts: map[*defect]verdict{}, tried: map[*defect]bool{},
	}
}

// try tries the mutants, and says what has become of them.
func (s settings) try(ctx context.Context, c *campaign, known equivalents, must, may []*defect) (err error) {
	decided, err := c.ledger.open(s.ledger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.ledger.close()) }()
	for _, m := range slices.Concat(must, may) {
		c.verdicts[m] = cmp.Or(verdict(decided[m.hash]), undecided)
		if known[m.hash] != "" {
			c.verdicts[m] = equivalent
		}
	}
	if err := c.run(ctx, must); err != nil {
		return err
	}
	limited := ctx
	if s.branch != "" && s.within > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, s.within/3)
		defer cancel()
	}
	if err := c.run(limited, may); err != nil {
		return err
	}
	return s.report(c, must, may)
}

// report shows what was not caught, and the table.
func (s settings) report(c *campaign, must, may []*defect) error {
	bad, skips := 0, c.skipped
	for i, some := range [][]*defect{must, may} {
		for _, m := range some {
			switch v := c.verdicts[m]; v {
			case survived, uncovered:
				c.show(c.out, m, v)
				if i == 0 || s.strict {
					bad++
				}
			case undecided:
				if c.tried[m] {
					c.show(c.out, m, "not caught so far")
				}
			case notMade:
				skips = append(skips, skipped{m.file, "the script does not compile"})
				delete(c.verdicts, m)
			}
		}
	}
	reasons(c.out, skips)
	if err := table(c.out, c.verdicts, skips); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d mutants are not caught: write a test that notices them, or say in equivalent.txt why nothing can", bad)
	}
	return nil
}
