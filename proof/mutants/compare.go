package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// A comparison is of tests with one another: each mutant is tried on each of them that reaches it, by itself. A test that
// notices nothing which the others do not notice as well may not be needed beside them.
type comparison struct {
	*campaign
	reached map[string]int       // how many mutants, by test; under mu, as caught is
	caught  map[*defect][]string // the tests that notice it
}

// compare tries the mutants on the tests that are wanted, and says what each test notices.
func (s settings) compare(ctx context.Context, in *campaign, all []*defect) error {
	c := &comparison{campaign: in, reached: map[string]int{}, caught: map[*defect][]string{}}
	for _, m := range all {
		c.verdicts[m] = undecided
	}
	for _, p := range in.tested {
		err := s.compareOn(ctx, c, p, in.alive(all, p))
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
	}
	return c.report()
}

// compareOn tries the mutants on the tests of one package.
func (s settings) compareOn(ctx context.Context, c *comparison, p *listed, alive []*defect) error {
	tests, err := p.testsOf()
	wanted := func(name string) bool { return s.each.MatchString(c.nameOf(p, name)) }
	if err != nil || len(alive) == 0 || !slices.ContainsFunc(tests, wanted) {
		return err
	}
	b, err := c.binary(ctx, p)
	if err != nil || b == nil {
		return err
	}
	return c.inParallel(ctx, c.relative(p.Dir), one(alive), func(group []*defect) error {
		for _, t := range b.tests {
			if !wanted(t.Name) || !t.reach(group) {
				continue
			}
			v, _, err := c.attempt(ctx, group, []*test{t}, c.scratch)
			if err != nil || v == undecided {
				return err
			}
			c.note(group[0], c.nameOf(p, t.Name), v)
		}
		return nil
	})
}

func (c *comparison) nameOf(p *listed, test string) string { return c.relative(p.Dir) + " " + test }

func (c *comparison) note(m *defect, test string, v verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v == notMade {
		return
	}
	c.reached[test]++
	if v == caught {
		c.caught[m] = append(c.caught[m], test)
	}
}

// report says of each test how many mutants it reaches and notices, and shows those that it notices alone. At the end it names
// the tests that are not needed for any of these mutants as long as the others are there.
func (c *comparison) report() error {
	count, alone := map[string]int{}, map[string]int{}
	for _, m := range c.mutants {
		by := c.caught[m]
		for _, test := range by {
			count[test]++
		}
		if len(by) == 1 {
			alone[by[0]]++
			c.show(c.out, m, verdict("by "+by[0]+" alone"))
		}
	}
	tests := slices.SortedFunc(maps.Keys(c.reached), func(a, b string) int { return cmp.Or(count[a]-count[b], strings.Compare(a, b)) })
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	say(w, "reached\tcaught\talone\t \n")
	for _, test := range tests {
		say(w, "%d\t%d\t%d\t %s\n", c.reached[test], count[test], alone[test], test)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	needless := c.needless(tests)
	if len(needless) == 0 {
		needless = []string{"none"}
	}
	say(c.out, "not needed for these mutants beside the others: %s\n", strings.Join(needless, ", "))
	return nil
}

// needless takes away one test after the other, if what it notices is noticed without it.
func (c *comparison) needless(tests []string) (gone []string) {
	for _, test := range tests {
		needed := false
		for _, by := range c.caught {
			others := slices.DeleteFunc(slices.Clone(by), func(other string) bool { return slices.Contains(gone, other) })
			needed = needed || len(others) == 1 && others[0] == test
		}
		if !needed {
			gone = append(gone, test)
		}
	}
	return gone
}
