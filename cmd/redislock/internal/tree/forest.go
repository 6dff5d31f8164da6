package tree

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// deepest is how many parties stand beneath one another. What is deeper is a tree of its own, to which the first one refers.
const deepest = 5

// A forest is who stands beneath whom: the waiters of a key beneath those who hold it, and beneath the first of the line if
// nobody does who is in their way.
type forest struct {
	*printer
	under [][]int   // of each party the keys that are drawn beneath it
	left  []int     // keys in whose way are only holders that have left them
	below [][]stand // of each key who is drawn beneath it
	held  []bool    // whether holders of a key are in the way of somebody who waits for it
	rows  []row
	drawn map[int]bool // parties whose keys are in the rows
	keys  map[int]int  // of a key that is in the rows: beneath which party
}

// A row is one line of the picture.
type row struct {
	lead          string
	name          string // is shortened if the line is too long; empty: there is none
	tail, mark    string // mark says that the party is in a deadlock
	party, refers int    // whose keys are drawn beneath it, or beneath whom they are; nobody: there are none
}

// add makes a row. It is to be completed before the next one is made.
func (f *forest) add(lead, name, tail string) *row {
	f.rows = append(f.rows, row{lead: lead, name: name, tail: tail, party: nobody, refers: nobody})
	return &f.rows[len(f.rows)-1]
}

// addRoot makes a row with which a tree begins.
func (f *forest) addRoot(name, tail string) *row {
	if len(f.rows) > 0 {
		f.add("", "", "")
	}
	return f.add("", name, tail)
}

// branch makes the begin of a row from what stands above it, and of those beneath it; follows says whether another one does.
func (f *forest) branch(stems string, follows bool) (lead, beneath string) {
	if follows {
		return stems + f.names.branch, stems + f.names.stem
	}
	return stems + f.names.last, stems + f.names.gap
}

// grow makes the rows of all trees.
func (p *printer) grow() []row {
	f := &forest{
		printer: p, under: make([][]int, len(p.parties)), below: make([][]stand, len(p.states)), held: make([]bool, len(p.states)),
		drawn: map[int]bool{}, keys: map[int]int{},
	}
	for state := range p.states {
		f.plant(state)
	}
	for _, state := range f.left {
		s := &f.states[state]
		f.addRoot(s.Key, ", left by its holder, free in "+cli.Duration(s.Holders[0].TTL))
		f.waiters(state, "", 1)
	}
	for _, party := range f.roots() {
		if !f.drawn[party] {
			r := f.addRoot(f.names.of[party], "")
			r.party, r.mark = party, f.mark(party)
			f.beneath(party, "", 0)
		}
	}
	return f.rows
}

// roots are the parties with which trees may begin. Those that wait come last: most of them are beneath somebody by then.
func (f *forest) roots() (roots []int) {
	waiting := make([]int, len(f.parties)) // how many are beneath the keys of a party
	for party, keys := range f.under {
		for _, state := range keys {
			waiting[party] += len(f.below[state])
		}
		if len(keys) > 0 {
			roots = append(roots, party)
		}
	}
	slices.SortStableFunc(roots, func(a, b int) int {
		waits := cmp.Compare(min(1, len(f.parties[a].requests)), min(1, len(f.parties[b].requests)))
		return cmp.Or(waits, cmp.Compare(waiting[b], waiting[a]))
	})
	return roots
}

// plant finds out beneath whom the line of a key belongs, with the writer that has an intent at its head.
func (f *forest) plant(state int) {
	line := f.lines[state]
	if n := len(line) - 1; n >= 0 && line[n].place == 0 {
		line = slices.Concat(line[n:], line[:n])
	}
	f.below[state] = line
	f.held[state] = slices.ContainsFunc(line, func(s stand) bool { return f.isHeldAgainst(state, s.mode) })
	if f.held[state] {
		for _, p := range f.holders[state] {
			if p != nobody && !slices.Contains(f.under[p], state) {
				f.under[p] = append(f.under[p], state)
			}
		}
		if !slices.ContainsFunc(f.holders[state], func(p int) bool { return p != nobody }) {
			f.left = append(f.left, state)
		}
		return
	}
	first := slices.IndexFunc(line, func(s stand) bool { return s.place > 0 })
	if first >= 0 && len(line) > 1 { // then the others are beneath it
		p := f.requests[line[first].request].party
		f.under[p] = append(f.under[p], state)
		f.below[state] = slices.Delete(slices.Clone(line), first, first+1)
	}
}

// beneath draws the keys of a party, and who waits for them.
func (f *forest) beneath(p int, stems string, depth int) {
	f.drawn[p] = true
	for i, state := range f.under[p] {
		lead, beneath := f.branch(stems, i < len(f.under[p])-1)
		r := f.add(lead, f.states[state].Key, f.hold(p, state, f.held[state]))
		if other, has := f.keys[state]; has {
			r.refers = other
			continue
		}
		f.keys[state] = p
		f.waiters(state, beneath, depth+1)
	}
}

// waiters draws who waits for a key, and what is beneath them: the first ones, and some more for whom others wait.
func (f *forest) waiters(state int, stems string, depth int) {
	line, shown, hidden := f.below[state], 0, 0
	more := func(follows bool) {
		if hidden > 0 {
			lead, _ := f.branch(stems, follows)
			f.add(fmt.Sprintf("%s%s %s more", lead, f.names.dots, count.Number(hidden)), "", "")
			hidden = 0
		}
	}
	for i, s := range line {
		p := f.requests[s.request].party
		isRoot := len(f.under[p]) > 0 && !f.drawn[p] && shown < 2*f.most
		if f.most > 0 && shown >= f.most && !isRoot {
			hidden++
			continue
		}
		shown++
		more(true)
		lead, beneath := f.branch(stems, i < len(line)-1)
		place, wish := f.wish(s)
		r := f.add(lead+place, f.names.of[p], wish)
		r.mark = f.mark(p)
		switch {
		case len(f.under[p]) == 0:
		case f.drawn[p] || depth >= deepest:
			r.refers, r.name = p, cmp.Or(f.parties[p].caller, r.name) // the rest stands where this refers to
		default:
			r.party = p
			f.beneath(p, beneath, depth)
		}
	}
	more(false)
}

// labels gives numbers to the parties to which rows refer, in the order in which they are drawn.
func labels(rows []row) map[int]int {
	wanted, numbers := map[int]bool{}, map[int]int{}
	for _, r := range rows {
		wanted[r.refers] = true
	}
	for _, r := range rows {
		if r.party != nobody && wanted[r.party] && numbers[r.party] == 0 {
			numbers[r.party] = len(numbers) + 1
		}
	}
	return numbers
}
