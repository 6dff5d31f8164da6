package tree

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A deadlock is a circle of requests, each of which waits for the next one.
type deadlock struct {
	certain bool
	steps   []step
	behind  int      // how many requests more wait for one of these, if it is certain
	why     []string // it is only possible
}

// A step is one request of a circle: it waits because of a key, for the party of the next step.
type step struct {
	party, request int
	state          int
	held           bool // the next party holds the key; else it stands before this one in the line
}

// links returns each step, and the next one.
func (d *deadlock) links() iter.Seq2[step, step] {
	return func(yield func(step, step) bool) {
		for i, s := range d.steps {
			if !yield(s, d.steps[(i+1)%len(d.steps)]) {
				return
			}
		}
	}
}

// mayBeNothing reports whether a party may wait for itself.
func (d deadlock) mayBeNothing() bool { return len(d.steps) == 1 && !d.certain }

// since is when the last of its requests began to wait.
func (d *deadlock) since(m *model) time.Time {
	var last time.Time
	for _, s := range d.steps {
		if since := m.requests[s.request].since; since.After(last) {
			last = since
		}
	}
	return last
}

// A finder looks for deadlocks, of which it keeps some.
type finder struct {
	*model
	most  int
	found []deadlock
	more  int             // that were found and not kept
	known map[string]bool // by what makes them the same
	stuck map[int]bool    // parties of certain deadlocks
}

// mostStarts is from how many requests a finder looks for circles, in each graph.
const mostStarts = 500

// deadlocks finds the deadlocks of a model: first those that are certain, then those that are possible, both with the
// oldest first, and those of one party last. Of these it returns so many at most, and how many more there are at least.
func deadlocks(m *model, most int) (found []deadlock, more int) {
	f := finder{model: m, most: most, known: map[string]bool{}, stuck: map[int]bool{}}
	f.selves(true, false)
	f.circles(true) // before those who wait for others and themselves: it tells more
	f.selves(true, true)
	f.selves(false, true)
	f.circles(false)
	slices.SortStableFunc(f.found, func(a, b deadlock) int {
		if a.certain != b.certain {
			return map[bool]int{true: -1, false: 1}[a.certain]
		}
		return cmp.Or(cmp.Compare(min(len(b.steps), 2), min(len(a.steps), 2)), a.since(m).Compare(b.since(m)))
	})
	return f.found, f.more
}

// circles finds those with two parties or more.
func (f *finder) circles(certain bool) {
	g := newWaits(f.model, certain)
	of, count := g.components()
	starts := 0
	for _, nodes := range members(of, count) {
		begun := map[[2]int]bool{} // of requests of one party that wait for the same key first, one is enough
		for _, node := range nodes {
			q := g.request[node]
			if q == nobody || f.stuck[g.who[node]] || of[g.party[g.who[node]]] != of[node] {
				continue // in each circle is somebody who holds something
			}
			way := [2]int{g.who[node], f.requests[q].stands[0].state}
			if begun[way] {
				continue
			}
			begun[way] = true
			if starts++; starts > mostStarts {
				f.more++
				continue
			}
			if round := g.round(node, of); round != nil {
				f.keep(g, round, certain)
			}
		}
	}
}

// keep adds a circle, unless it is known.
func (f *finder) keep(g *waits, round []int, certain bool) {
	d := deadlock{certain: certain, steps: g.steps(round)}
	if !certain {
		d.why = f.doubts(d.steps)
	}
	f.add(d)
	for _, s := range d.steps {
		f.stuck[s.party] = f.stuck[s.party] || certain
	}
}

func (f *finder) add(d deadlock) {
	name := circleName(d.steps)
	switch {
	case f.known[name]:
	case len(f.found) >= f.most && !d.certain:
		f.more++
	default:
		f.found = append(f.found, d)
	}
	f.known[name] = true
}

// steps are the requests of a round, and what is between them.
func (g *waits) steps(round []int) []step {
	var steps []step
	for _, node := range round {
		if g.request[node] != nobody {
			steps = append(steps, step{party: g.who[node], request: g.request[node], state: nobody})
			continue
		}
		last := &steps[len(steps)-1]
		if g.state[node] == nobody {
			last.held = true // the node is the party that holds it
		} else {
			last.state = g.state[node]
		}
	}
	return steps
}

// circleName is the same for circles of the same parties and keys, wherever they begin.
func circleName(steps []step) string {
	name := ""
	for i := range steps {
		text := ""
		for k := range steps {
			s := steps[(i+k)%len(steps)]
			text += fmt.Sprint(s.party, s.state, s.held, ";")
		}
		if name == "" || text < name {
			name = text
		}
	}
	return name
}

// doubts are why a circle is not certain.
func (f *finder) doubts(steps []step) []string {
	var why []string
	doubt := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	for i, s := range steps {
		p := &f.parties[s.party]
		isHolder := steps[(i+len(steps)-1)%len(steps)].held
		switch {
		case f.requests[s.request].intent:
			doubt("a writer with an intent may not ask again")
		case isHolder && p.caller == "":
			doubt("another goroutine of a process may hold the key")
		case isHolder && len(p.processes) > 1:
			doubt("a caller's id is used by %d processes", len(p.processes))
		case isHolder && !f.isOne(s.party):
			doubt("a caller waits more than once, so it has several goroutines")
		case f.isPerhapsOwn(s.request, s.state):
			doubt("a request may have the token with which its caller holds the key")
		case p.caller == "":
			doubt("what stands in two lines may be two requests")
		}
	}
	return why
}

// selves finds parties that wait for themselves, and perhaps for others.
func (f *finder) selves(certain, others bool) {
	for p := range f.parties {
		for _, q := range f.parties[p].requests {
			for _, s := range f.requests[q].stands {
				if !f.stuck[p] && f.isHeldBy(s.state, p) && f.isHeldAgainst(s.state, s.mode) && (others || !f.wouldWait(q, s.state)) {
					f.addSelf(p, q, s, certain)
				}
			}
		}
	}
}

func (f *finder) addSelf(p, q int, s stand, certain bool) {
	if has, known := f.hasToken(q, s.state); has && known {
		return // the key is not in its way
	}
	d := deadlock{steps: []step{{party: p, request: q, state: s.state, held: true}}}
	switch d.certain = f.isOne(p) && !f.isPerhapsOwn(q, s.state); {
	case d.certain != certain:
		return
	case d.certain:
		f.stuck[p] = true
	default:
		d.why = f.doubts(d.steps)
	}
	f.add(d)
}
