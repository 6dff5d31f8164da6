package tree

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/count"
)

// deepest is how many parties stand beneath one another. What is deeper is a tree of its own, to which the first one refers.
const deepest = 5

// A forest is who stands beneath whom: the waiters of a key beneath those who hold it, and beneath the first of the line if
// nobody does who is in their way.
type forest struct {
	*printer
	under  [][]int   // of each party the keys that are drawn beneath it
	left   []int     // keys in whose way are only holders that have left them
	groups [][]group // of each key
	held   []bool    // whether holders of a key are in the way of somebody who waits for it
	rows   []row
	drawn  map[int]bool // parties whose keys are in the rows
	keys   map[int]int  // of a key that is in the rows: beneath which party
}

// A group is requests of one party that stand together in a line and want the same.
type group struct {
	party       int
	request     int // the first
	first, last int // places among those who are alive, from 1; 0: an intent
	mode        redislock.Mode
}

// A row is one line of the picture.
type row struct {
	lead          string
	name          string // is shortened if the line is too long; empty: there is none
	tail, mark    string // mark says that the party is in a deadlock
	party, refers int    // whose keys are drawn beneath it, or beneath whom they are; nobody: there are none
	waiters       int    // how many it shows, or counts
}

// add makes a row. It is to be completed before the next one is made.
func (f *forest) add(lead, name, tail string) *row {
	f.rows = append(f.rows, row{lead: lead, name: name, tail: tail, party: nobody, refers: nobody})
	return &f.rows[len(f.rows)-1]
}

// addRoot makes a row with which a tree begins.
func (f *forest) addRoot(lead, name, tail string) *row {
	if len(f.rows) > 0 {
		f.add("", "", "")
	}
	return f.add(lead, name, tail)
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
	f := &forest{printer: p, under: make([][]int, len(p.parties)), drawn: map[int]bool{}, keys: map[int]int{}}
	for state := range p.states {
		f.plant(state)
	}
	roots := make([]int, 0, len(p.parties))
	counts := make([]int, len(p.parties))
	for party, keys := range f.under {
		for _, state := range keys {
			counts[party] += f.size(state)
		}
		if len(keys) > 0 {
			roots = append(roots, party)
		}
	}
	slices.SortStableFunc(roots, func(a, b int) int { // those who wait come last: most of them are beneath somebody by then
		waits := cmp.Compare(min(1, len(p.parties[a].requests)), min(1, len(p.parties[b].requests)))
		return cmp.Or(waits, cmp.Compare(counts[b], counts[a]))
	})
	f.trees(roots, counts)
	return f.rows
}

// trees draws the roots, and says how many it does not draw.
func (f *forest) trees(roots, counts []int) {
	trees, more := 0, 0
	draw := func(waiters int, tree func()) {
		if trees++; f.most > 0 && trees > 5*f.most {
			more += waiters
		} else {
			tree()
		}
	}
	for _, state := range f.left {
		draw(f.size(state), func() {
			f.addRoot("", f.states[state].Key, f.leftUntil(state))
			f.waiters(state, "", 1)
		})
	}
	for _, p := range roots {
		if !f.drawn[p] {
			draw(counts[p], func() {
				r := f.addRoot("", f.names.of[p], "")
				r.party, r.mark = p, f.mark(p)
				f.beneath(p, "", 0)
			})
		}
	}
	if more > 0 {
		text := fmt.Sprintf("%s %s more wait for others: --waiters 0 draws all", f.names.dots, count.Number(more))
		f.addRoot(text, "", "").waiters = more
	}
}

// plant finds out beneath whom the line of a key belongs.
func (f *forest) plant(state int) {
	line := f.groupsOf(state)
	held := slices.ContainsFunc(line, func(g group) bool { return f.isHeldAgainst(state, g.mode) })
	f.groups, f.held = append(f.groups, line), append(f.held, held)
	switch {
	case len(line) == 0:
	case held:
		for _, p := range f.holders[state] {
			if p != nobody && !slices.Contains(f.under[p], state) {
				f.under[p] = append(f.under[p], state)
			}
		}
		if !slices.ContainsFunc(f.holders[state], func(p int) bool { return p != nobody }) {
			f.left = append(f.left, state)
		}
	default:
		f.plantBehindFirst(state)
	}
}

// plantBehindFirst puts a line beneath its first waiter, if others are behind it.
func (f *forest) plantBehindFirst(state int) {
	line, first := f.groups[state], 0
	if line[0].last == 0 {
		first++ // an intent, which waits for everybody in line
	}
	if first == len(line) || len(line) == 1 && line[0].first == line[0].last {
		return
	}
	f.under[line[first].party] = append(f.under[line[first].party], state)
	if line[first].first++; line[first].first > line[first].last {
		f.groups[state] = slices.Delete(line, first, first+1)
	}
}

// groupsOf are who waits for a key: the writer with an intent, and the line.
func (f *forest) groupsOf(state int) (line []group) {
	for _, s := range f.lines[state] {
		g := group{f.requests[s.request].party, s.request, s.ahead + 1, s.ahead + 1, s.mode}
		n := len(line) - 1
		switch {
		case s.place == 0:
			g.first, g.last = 0, 0
			line = slices.Insert(line, 0, g)
		case n >= 0 && line[n].party == g.party && line[n].mode == g.mode:
			line[n].last = g.last
		default:
			line = append(line, g)
		}
	}
	return line
}

// size is how many wait for a key.
func (f *forest) size(state int) int {
	n := 0
	for _, g := range f.groups[state] {
		n += g.size()
	}
	return n
}

func (g group) size() int { return g.last - g.first + 1 }

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
		if !f.held[state] {
			r.waiters = 1 // the party itself, which is the first in line
		}
		f.keys[state] = p
		f.waiters(state, beneath, depth+1)
	}
}

// waiters draws who waits for a key, and what is beneath them.
func (f *forest) waiters(state int, stems string, depth int) {
	line := f.groups[state]
	shown := f.choose(line)
	hidden := 0
	more := func(follows bool) {
		if hidden > 0 {
			lead, _ := f.branch(stems, follows)
			f.add(fmt.Sprintf("%s%s %s more", lead, f.names.dots, count.Number(hidden)), "", "").waiters = hidden
			hidden = 0
		}
	}
	for i, g := range line {
		if !shown[i] {
			hidden += g.size()
			continue
		}
		more(true)
		lead, beneath := f.branch(stems, i < len(line)-1)
		r := f.add(lead+place(g), f.names.of[g.party], f.wish(g))
		r.mark, r.waiters = f.mark(g.party), g.size()
		switch {
		case len(f.under[g.party]) == 0:
		case f.drawn[g.party] || depth >= deepest:
			r.refers, r.name = g.party, cmp.Or(f.parties[g.party].caller, r.name) // the rest stands where this refers to
		default:
			r.party = g.party
			f.beneath(g.party, beneath, depth)
		}
	}
	more(false)
}

// choose says who of a line is drawn: the first ones, and some more for whom others wait.
func (f *forest) choose(line []group) []bool {
	shown, n := make([]bool, len(line)), 0
	for i, g := range line {
		isRoot := len(f.under[g.party]) > 0 && !f.drawn[g.party] && n < 2*f.most
		if f.most == 0 || n < f.most || isRoot {
			shown[i] = true
			n++
		}
	}
	return shown
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
