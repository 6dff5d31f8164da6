package line_test

import (
	"cmp"
	"slices"
	"time"
)

// An access is what one arrival did with one key.
type access struct {
	of          *arrival
	write       bool
	from, until time.Duration
}

// accesses sorts out the run by key.
func (c *workload) accesses() map[string][]access {
	by := make(map[string][]access)
	for _, a := range c.all {
		for _, key := range a.read {
			by[key] = append(by[key], access{a, false, a.from, a.until})
		}
		for _, key := range a.write {
			if a.shares == 0 {
				by[key] = append(by[key], access{a, true, a.from, a.until})
				continue
			}
			by[key] = append(by[key], access{a, true, a.from, a.shares}, access{a, false, a.from, a.until})
		}
	}
	return by
}

// sweep goes through accesses of a key by rank, and shows for each that has any the one with the
// greatest mark of those with a lower rank which conflict with it. An access without a rank is left out.
func sweep(all []access, rank func(access) int64, mark func(access) time.Duration, see func(a, before access)) {
	all = slices.DeleteFunc(slices.Clone(all), func(a access) bool { return rank(a) <= 0 })
	slices.SortFunc(all, func(a, b access) int { return cmp.Compare(rank(a), rank(b)) })
	var writer, anybody access
	for first, i := 0, 0; i < len(all); i++ {
		for ; rank(all[first]) < rank(all[i]); first++ {
			if b := all[first]; mark(b) > 0 {
				if anybody.of == nil || mark(b) > mark(anybody) {
					anybody = b
				}
				if b.write && (writer.of == nil || mark(b) > mark(writer)) {
					writer = b
				}
			}
		}
		before := writer
		if all[i].write {
			before = anybody
		}
		if before.of != nil {
			see(all[i], before)
		}
	}
}

func from(a access) time.Duration  { return a.from }
func until(a access) time.Duration { return a.until }

// rankIf ranks those of some kind.
func rankIf[N ~int64](kind func(*arrival) bool, by func(access) N) func(access) int64 {
	return func(a access) int64 {
		if !kind(a.of) {
			return 0
		}
		return int64(by(a))
	}
}

func isHeld(a *arrival) bool   { return a.held }
func inLine(a *arrival) bool   { return a.place > 0 }
func place(a access) int64     { return a.of.place }
func gaveUp(a *arrival) bool   { return !a.held && a.until > 0 }
func waited(a *arrival) bool   { return a.held && a.place > 0 }
func nowhere(a *arrival) bool  { return gaveUp(a) && a.place == 0 }
func standing(a *arrival) bool { return inLine(a) && (a.held || gaveUp(a)) }

// exclusive checks that no two have held what they may not hold together.
func (c *workload) exclusive(key string, all []access) {
	sweep(all, rankIf(isHeld, from), until, func(a, b access) {
		if b.until > a.from {
			c.t.Errorf("%s: held together by\n%v\n%v", key, b.of, a.of)
		}
	})
}

// ordered checks that nobody was overtaken who stood in line. A place is the moment at which somebody came, and is taken a
// little later: whoever may have been served by then has overtaken nobody.
func (c *workload) ordered(key string, all []access, served map[*arrival]time.Duration) {
	stood := slices.DeleteFunc(slices.Clone(all), func(a access) bool { return !waited(a.of) })
	for _, a := range stood {
		for _, b := range stood {
			if place(b) < place(a) && (a.write || b.write) && b.of.placed <= served[a.of] && b.from > a.from {
				c.t.Errorf("%s: not in the order of their places:\n%v\n%v", key, b.of, a.of)
			}
		}
	}
	known := func(a access) time.Duration { // of one who did not wait: when it came
		if a.of.place == 0 {
			return a.of.asked
		}
		return a.of.placed
	}
	waits := func(a access) time.Duration {
		if a.of.place == 0 {
			return 0
		}
		return a.from
	}
	sweep(all, rankIf(isHeld, known), waits, func(a, b access) {
		if a.of.place == 0 && b.from > a.from {
			c.t.Errorf("%s: the second did not wait, though the first was known to stand in line:\n%v\n%v", key, b.of, a.of)
		}
	})
}

// numbered checks that fencing numbers grow.
func (c *workload) numbered(key string, all []access) {
	number := func(a access) time.Duration { return time.Duration(a.of.number) }
	sweep(all, rankIf(func(a *arrival) bool { return a.number > 0 }, from), number, func(a, b access) {
		if b.of.number >= a.of.number {
			c.t.Errorf("%s: number %d, then %d:\n%v\n%v", key, b.of.number, a.of.number, b.of, a.of)
		}
	})
}

// served returns for each arrival a moment after which it was served: until then somebody else held one of its keys.
func (c *workload) served(by map[string][]access) map[*arrival]time.Duration {
	served := make(map[*arrival]time.Duration)
	for _, all := range by {
		sweep(all, rankIf(isHeld, from), until, func(a, b access) { served[a.of] = max(served[a.of], b.until) })
	}
	return served
}

// ready returns for each arrival the moment from which nobody was in its way any more.
func (c *workload) ready(by map[string][]access) map[*arrival]time.Duration {
	ready := c.served(by)
	for _, all := range by {
		note := func(a, b access) { ready[a.of] = max(ready[a.of], b.until) }
		left := func(a access) time.Duration {
			if a.of.held {
				return 0
			}
			return a.until
		}
		sweep(all, rankIf(standing, place), left, note)
		sweep(all, rankIf(func(a *arrival) bool { return a.held || nowhere(a) }, func(a access) time.Duration {
			return max(a.from, left(a))
		}), left, note)
	}
	return ready
}

// paused returns for how much of a time the machine had something else to do.
func (c *workload) paused(from, until time.Duration) (sum time.Duration) {
	for _, p := range c.pauses {
		sum += max(0, min(until, p[1])-max(from, p[0]))
	}
	return sum
}

// stall is how long a turn may take to come when nobody is in its way. A waiter asks again within
// five seconds whatever happens: a hand-over that is lost shows as that.
const stall = 2 * time.Second

// judge looks at what has happened.
func (c *workload) judge() {
	by := c.accesses()
	served := c.served(by)
	for key, all := range by {
		c.exclusive(key, all)
		c.ordered(key, all, served)
		c.numbered(key, all)
	}
	ready := c.ready(by)
	var atOnce, turns, cancelled int
	var worst time.Duration
	for _, a := range c.all {
		switch {
		case a.held && a.place == 0:
			atOnce++
		case a.held:
			turns++
		case a.place > 0:
			cancelled++
		}
		if !a.held {
			continue
		}
		since := max(a.asked, ready[a])
		took := a.from - since - c.paused(since, a.from)
		worst = max(worst, took)
		if took > stall {
			c.t.Errorf("%v: nobody was in its way for %v", a, took)
		}
	}
	c.t.Logf("%d at once, %d in turn, %d cancelled in line; longest hand-over %v, %d pauses",
		atOnce, turns, cancelled, worst, len(c.pauses))
	if min(atOnce, turns, cancelled) == 0 {
		c.t.Error("not everything that can happen has happened")
	}
}
