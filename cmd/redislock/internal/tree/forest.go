package tree

import (
	"cmp"
	"slices"

	"github.com/seed-14de3678/redislock"
)

// deepest is how many parties stand beneath one another. What is deeper is a tree of its own, to which the first one refers.
const deepest = 5

// A forest is who stands beneath whom: the waiters of a key beneath those who hold it, and beneath the first of the line if
// nobody does who is in their way.
type forest struct {
	*model
	most  int       // waiters that are drawn of each line; 0: all
	under [][]int   // of each party the keys that are drawn beneath it
	left  []int     // keys in whose way are only holders that have left them
	lines [][]group // of each key
	held  []bool    // whether holders of a key are in the way of somebody who waits for it
	rows  []row
	drawn map[int]bool // parties whose keys are in the rows
	keys  map[int]int  // of a key that is in the rows: beneath which party
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
	stems  []bool // of each level above: whether something follows there
	kind   rowKind
	party  int  // of rowRoot and rowWaiter
	state  int  // of rowKey, rowWaiter, rowLeft
	held   bool // of rowKey: the party holds it, and is in the way; else it is the first in line
	group  group
	refers int // the party beneath which it goes on; nobody: here, if at all
	count  int // of rowMore: how many are not drawn
}

type rowKind int

const (
	rowRoot rowKind = iota
	rowLeft         // a key that was left, as a root
	rowKey
	rowWaiter
	rowMore
	rowMoreTrees
)

// grow makes the rows of all trees.
func grow(m *model, most int) []row {
	f := &forest{model: m, most: most, under: make([][]int, len(m.parties)), drawn: map[int]bool{}, keys: map[int]int{}}
	for state := range m.states {
		f.plant(state)
	}
	roots := make([]int, 0, len(m.parties))
	counts := make([]int, len(m.parties))
	for p, keys := range f.under {
		for _, state := range keys {
			counts[p] += f.size(state)
		}
		if len(keys) > 0 {
			roots = append(roots, p)
		}
	}
	slices.SortStableFunc(roots, func(a, b int) int { // those who wait come last: most of them are beneath somebody by then
		waits := cmp.Compare(min(1, len(m.parties[a].requests)), min(1, len(m.parties[b].requests)))
		return cmp.Or(waits, cmp.Compare(counts[b], counts[a]))
	})
	f.trees(roots, counts)
	return f.rows
}

// trees draws the roots, and says how many it does not draw.
func (f *forest) trees(roots, counts []int) {
	trees, more := 0, row{kind: rowMoreTrees}
	isFull := func() bool { trees++; return f.most > 0 && trees > 5*f.most }
	for _, state := range f.left {
		if isFull() {
			more.count += f.size(state)
			continue
		}
		f.rows = append(f.rows, row{kind: rowLeft, state: state, refers: nobody})
		f.waiters(state, nil, 1)
	}
	for _, p := range roots {
		switch {
		case f.drawn[p]:
		case isFull():
			more.count += counts[p]
		default:
			f.rows = append(f.rows, row{kind: rowRoot, party: p, refers: nobody})
			f.beneath(p, nil, 0)
		}
	}
	if more.count > 0 {
		f.rows = append(f.rows, more)
	}
}

// plant finds out beneath whom the line of a key belongs.
func (f *forest) plant(state int) {
	line, held := f.groups(state), false
	for _, g := range line {
		held = held || f.isHeldAgainst(state, g.mode)
	}
	f.lines, f.held = append(f.lines, line), append(f.held, held)
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
	line, first := f.lines[state], 0
	if line[0].last == 0 {
		first++ // an intent, which waits for everybody in line
	}
	if first == len(line) || len(line) == 1 && line[0].first == line[0].last {
		return
	}
	f.under[line[first].party] = append(f.under[line[first].party], state)
	if line[first].first++; line[first].first > line[first].last {
		f.lines[state] = slices.Delete(line, first, first+1)
	}
}

// groups are who waits for a key: the writer with an intent, and the line.
func (f *forest) groups(state int) []group {
	var line []group
	if q := f.intents[state]; q != nobody {
		line = append(line, group{party: f.requests[q].party, request: q, mode: redislock.ModeWrite})
	}
	place := 0
	for w, q := range f.line[state] {
		if q == nobody {
			continue
		}
		place++
		g := group{f.requests[q].party, q, place, place, f.states[state].Line[w].Mode}
		if n := len(line) - 1; n >= 0 && line[n].last > 0 && line[n].party == g.party && line[n].mode == g.mode {
			line[n].last = place
		} else {
			line = append(line, g)
		}
	}
	return line
}

// size is how many wait for a key.
func (f *forest) size(state int) int {
	n := 0
	for _, g := range f.lines[state] {
		n += g.size()
	}
	return n
}

func (g group) size() int { return g.last - g.first + 1 }

// beneath draws the keys of a party, and who waits for them.
func (f *forest) beneath(p int, stems []bool, depth int) {
	f.drawn[p] = true
	for i, state := range f.under[p] {
		here := append(slices.Clone(stems), i < len(f.under[p])-1)
		r := row{stems: here, kind: rowKey, party: p, state: state, held: f.held[state], refers: nobody}
		other, has := f.keys[state]
		if has {
			r.refers = other
		}
		if f.rows = append(f.rows, r); !has {
			f.keys[state] = p
			f.waiters(state, here, depth+1)
		}
	}
}

// waiters draws who waits for a key.
func (f *forest) waiters(state int, stems []bool, depth int) {
	line := f.lines[state]
	shown := f.choose(line)
	hidden := 0
	more := func(follows bool) {
		if hidden > 0 {
			f.rows = append(f.rows, row{stems: append(slices.Clone(stems), follows), kind: rowMore, count: hidden, refers: nobody})
			hidden = 0
		}
	}
	for i, g := range line {
		if !shown[i] {
			hidden += g.size()
			continue
		}
		more(true)
		here := append(slices.Clone(stems), i < len(line)-1)
		f.waiter(g, state, here, depth)
	}
	more(false)
}

// waiter draws one waiter, and what is beneath it.
func (f *forest) waiter(g group, state int, stems []bool, depth int) {
	r := row{stems: stems, kind: rowWaiter, party: g.party, state: state, group: g, refers: nobody}
	isKnown := len(f.under[g.party]) > 0
	if isKnown && (f.drawn[g.party] || depth >= deepest) {
		r.refers, isKnown = g.party, false
	}
	f.rows = append(f.rows, r)
	if isKnown {
		f.beneath(g.party, stems, depth)
	}
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
		if r.refers != nobody {
			wanted[r.refers] = true
		}
	}
	for i, r := range rows {
		if isDefined(rows, i) && wanted[r.party] && numbers[r.party] == 0 {
			numbers[r.party] = len(numbers) + 1
		}
	}
	return numbers
}

// isDefined reports whether the keys of the party of a row are drawn beneath it.
func isDefined(rows []row, i int) bool {
	r := rows[i]
	return r.kind == rowRoot || r.kind == rowWaiter && r.refers == nobody &&
		i+1 < len(rows) && len(rows[i+1].stems) > len(r.stems)
}
