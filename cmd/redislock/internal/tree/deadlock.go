package tree

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A deadlock is a circle of requests, each of which waits for the next one. It is an object of --json.
type deadlock struct {
	Type    string   `json:"type"` // deadlock
	Certain bool     `json:"certain"`
	Doubts  []string `json:"doubts,omitempty"` // why it is only possible
	Since   *string  `json:"since,omitempty"`
	Steps   []step   `json:"steps"`

	last time.Time // when the last of its requests began to wait
}

// A step is one request of a circle: it waits because of a key, for the party of the next step.
type step struct {
	Party    string `json:"party"` // the id, if more than this can be seen of it
	Caller   string `json:"caller"`
	Metadata string `json:"metadata"`
	cli.KeyName
	Why string `json:"why"` // held: the next party holds the key; line: it stands before this one in the line

	party, request, state int
}

const held = "held"

// links returns each step, and the next one.
func (d *deadlock) links() iter.Seq2[step, step] {
	return func(yield func(step, step) bool) {
		for i, s := range d.Steps {
			if !yield(s, d.Steps[(i+1)%len(d.Steps)]) {
				return
			}
		}
	}
}

// kind is "certain" or "possible".
func (d *deadlock) kind() string {
	if d.Certain {
		return "certain"
	}
	return "possible"
}

// A finder looks for deadlocks, of which it keeps some.
type finder struct {
	*model
	found []deadlock
	more  int             // that were found and not kept
	known map[string]bool // by what makes them the same
	stuck map[int]bool    // parties of certain deadlocks
}

const (
	// mostStarts is from how many requests a finder looks for circles, in each graph.
	mostStarts = 500
	// mostDeadlocks is how many are told one by one, unless more are certain.
	mostDeadlocks = 100
)

// deadlocks finds the deadlocks of a model: first those that are certain, with those of one caller last, then those that are
// possible, all with the oldest first. It returns some, and how many more there are at least.
func deadlocks(m *model) (found []deadlock, more int) {
	f := finder{model: m, known: map[string]bool{}, stuck: map[int]bool{}}
	f.selves(false)
	f.circles(true) // before those who wait for others and themselves: it tells more
	f.selves(true)
	f.circles(false)
	slices.SortStableFunc(f.found, func(a, b deadlock) int {
		bySize := cmp.Compare(min(2, len(b.Steps)), min(2, len(a.Steps)))
		return cmp.Or(strings.Compare(a.kind(), b.kind()), bySize, a.last.Compare(b.last)) // "certain" is before "possible"
	})
	return f.found, f.more
}

// circles finds those with two parties or more.
func (f *finder) circles(certain bool) {
	g := newWaits(f.model, certain)
	of, circles := g.components()
	starts := 0
	for _, nodes := range circles {
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
				f.keep(g.steps(round), certain)
			}
		}
	}
}

// keep adds a circle, unless it is known.
func (f *finder) keep(steps []step, certain bool) {
	d := deadlock{Type: "deadlock", Certain: certain, Steps: steps}
	for i := range steps {
		s := &steps[i]
		p := &f.parties[s.party]
		s.Caller, s.Metadata, s.KeyName = p.caller, p.metadata, cli.NameOf(f.states[s.state].Key)
		if p.isKnown() {
			s.Party = partyID(s.party)
		}
		if since := f.requests[s.request].since; since.After(d.last) {
			d.last = since
		}
		f.stuck[s.party] = f.stuck[s.party] || certain
	}
	if d.Since = cli.Moment(d.last); !certain {
		d.Doubts = f.doubts(steps)
	}
	name := circleName(steps)
	switch {
	case f.known[name]:
	case len(f.found) >= mostDeadlocks && !certain:
		f.more++
	default:
		f.found = append(f.found, d)
	}
	f.known[name] = true
}

// steps are the requests of a round, and what is between them.
func (g *waits) steps(round []int) (steps []step) {
	for _, node := range round {
		switch last := len(steps) - 1; {
		case g.request[node] != nobody:
			steps = append(steps, step{Why: "line", party: g.who[node], request: g.request[node]})
		case g.state[node] == nobody:
			steps[last].Why = held // the node is the party that holds it
		default:
			steps[last].state = g.state[node]
		}
	}
	return steps
}

// circleName is the same for circles of the same parties and keys, wherever they begin.
func circleName(steps []step) string {
	var words []string
	for _, s := range steps {
		words = append(words, fmt.Sprint(s.party, s.state, s.Why))
	}
	slices.Sort(words)
	return strings.Join(words, ";")
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
		isHolder := steps[(i+len(steps)-1)%len(steps)].Why == held
		isOwn, _ := f.isPerhapsOwn(s.request, s.state)
		switch {
		case f.requests[s.request].isIntent():
			doubt("a writer with an intent may not ask again")
		case isHolder && p.caller == "":
			doubt("another goroutine of a process may hold the key")
		case isHolder && len(p.processes) > 1:
			doubt("a caller's id is used by %d processes", len(p.processes))
		case isHolder && !f.isOne(s.party):
			doubt("a caller waits more than once, so it has several goroutines")
		case isOwn:
			doubt("a request may have the token with which its caller holds the key")
		case p.caller == "":
			doubt("what stands in two lines may be two requests")
		}
	}
	return why
}

// selves finds callers that wait for what they hold themselves, and perhaps for others.
func (f *finder) selves(others bool) {
	for p := range f.parties {
		if !f.isOne(p) {
			continue
		}
		q := f.parties[p].requests[0]
		for _, s := range f.requests[q].stands {
			isOwn, _ := f.isPerhapsOwn(q, s.state)
			isInItsWay := f.isHeldBy(s.state, p) && f.isHeldAgainst(s.state, s.mode) && !isOwn
			if isInItsWay && !f.stuck[p] && (others || !f.wouldWait(q, s.state)) {
				f.keep([]step{{Why: held, party: p, request: q, state: s.state}}, true)
			}
		}
	}
}
