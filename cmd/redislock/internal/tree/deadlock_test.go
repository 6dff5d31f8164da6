package tree

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
)

// Each rule of the package comment. The file has situations.
func TestDeadlocks(t *testing.T) {
	t.Parallel()
	eachRow(t, "testdata/deadlocks.txt", func(t *testing.T, fields []string) string {
		return strings.Join(viewOf(t, statesOf(fields[0])).told(), "; ")
	})
}

// randomStates has some keys, holders and sets that wait. All lines have one order, as the library promises.
func randomStates(r *rand.Rand) []redislock.KeyState {
	names := []string{"A", "B", "C", "D", "p", "q", "_", "A@1", "A@2"}
	someone := func() string { return names[r.IntN(len(names))] }
	lines := make([]string, 1+r.IntN(5))
	for i := range lines {
		lines[i] = fmt.Sprintf("k%d -", i)
		switch r.IntN(3) {
		case 0:
			lines[i] = fmt.Sprintf("k%d w %s", i, someone())
		case 1:
			lines[i] = fmt.Sprintf("k%d r %s %s", i, someone(), someone())
		}
	}
	for place := range r.IntN(7) {
		name := someone()
		if r.IntN(8) == 0 {
			name = "!" + name
		}
		for i := range lines {
			if r.IntN(len(lines)) == 0 {
				lines[i] += fmt.Sprintf(" %s:%s%d", name, []string{"w", "r"}[r.IntN(2)], place)
			}
		}
	}
	if r.IntN(4) == 0 {
		lines[0] += " intent:" + someone()
	}
	return statesOf(lines...)
}

// stuck finds by itself which requests are in a certain deadlock or behind one: it takes all of them for stuck, and takes away
// those that have nobody stuck in their way, until nothing changes. What stands in several lines is one if it has a caller's id.
func stuck(m *model) map[string]bool {
	unit := func(q, state int) string {
		if m.parties[m.requests[q].party].caller == "" {
			return fmt.Sprint(q, " ", state)
		}
		return fmt.Sprint(q)
	}
	ahead := map[string][]string{}
	for q, r := range m.requests {
		for _, s := range r.stands {
			name := unit(q, s.state)
			ahead[name] = append(ahead[name], "") // so that it is there
			for _, p := range m.holders[s.state] {
				conflicts := s.mode == redislock.ModeWrite || m.states[s.state].Mode == redislock.ModeWrite
				if p != nobody && (p != r.party || tokensDiffer(m, r)) && conflicts && m.isOne(p) {
					ahead[name] = append(ahead[name], unit(m.parties[p].requests[0], m.requests[m.parties[p].requests[0]].stands[0].state))
				}
			}
			for _, other := range m.lines[s.state][:s.ahead] {
				if m.isHeldBy(s.state, r.party) && !tokensDiffer(m, r) {
					break
				}
				if s.mode == redislock.ModeWrite || other.mode == redislock.ModeWrite {
					ahead[name] = append(ahead[name], unit(other.request, s.state))
				}
			}
		}
	}
	is := map[string]bool{}
	for name := range ahead {
		is[name] = true
	}
	for changed := true; changed; {
		changed = false
		for name := range is {
			free := true
			for _, other := range ahead[name] {
				free = free && !is[other]
			}
			if free {
				delete(is, name)
				changed = true
			}
		}
	}
	return is
}

// tokensDiffer reports whether a request would not wait if it had the token with which its party holds keys.
func tokensDiffer(m *model, r request) bool {
	for _, s := range r.stands {
		own := m.isHeldBy(s.state, r.party)
		for _, p := range m.holders[s.state] {
			if p != r.party && (s.mode == redislock.ModeWrite || m.states[s.state].Mode == redislock.ModeWrite) {
				return false
			}
		}
		for _, other := range m.lines[s.state][:s.ahead] {
			if !own && (s.mode == redislock.ModeWrite || other.mode == redislock.ModeWrite) {
				return false
			}
		}
	}
	return true
}

func TestDeadlocksAgainstNaive(t *testing.T) {
	t.Parallel()
	circles := 0
	for seed := range uint64(20_000) {
		m := newModel(randomStates(rand.New(rand.NewPCG(seed, 4))))
		found, _ := deadlocks(m)
		var some []string
		g := newWaits(m, true)
		var nodes []int
		for i := range found {
			if d := &found[i]; d.Certain {
				circles++
				some = append(some, d.told(m))
				for _, s := range d.Steps {
					nodes = append(nodes, g.at(s.request, s.state))
				}
			}
		}
		got := map[string]bool{}
		for _, node := range g.behind(nodes) {
			if q := g.request[node]; q != nobody {
				for i, s := range m.requests[q].stands {
					if g.stands[q][i] == node {
						name := fmt.Sprint(q)
						if m.parties[m.requests[q].party].caller == "" {
							name = fmt.Sprint(q, " ", s.state)
						}
						got[name] = true
					}
				}
			}
		}
		if diff := cmp.Diff(got, stuck(m)); diff != "" {
			t.Fatalf("seed %d: %v\nwho is stuck by these %v (-got +want):\n%s", seed, m.states, some, diff)
		}
	}
	if circles < 100 {
		t.Errorf("%d circles in all: the states are too harmless", circles)
	}
}

// Of ten thousand waiters there are not many more edges, and a circle through the last of them is found.
func TestDeadlockOfMany(t *testing.T) {
	t.Parallel()
	var first strings.Builder
	first.WriteString("a w A <")
	for i := range 10_000 {
		fmt.Fprintf(&first, " X%d:%s%d", i, []string{"w", "r"}[i%2], i+1)
	}
	states := statesOf(first.String()+" B:w20000", "b w B < A:w20001")
	v := viewOf(t, states)
	if diff := cmp.Diff(v.told(), []string{"certain A b B a A"}); diff != "" {
		t.Errorf("deadlocks (-got +want):\n%s", diff)
	}
	if edges := len(v.edges()); edges > 30_000 {
		t.Errorf("%d edges of 10 000 waiters", edges)
	}
	edges := 0
	for _, next := range newWaits(v.model, false).next {
		edges += len(next)
	}
	if edges > 100_000 {
		t.Errorf("%d edges of the graph of 10 000 waiters", edges)
	}
}
