package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
)

// Each rule of the package comment.
func TestDeadlocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, states, want string }{
		{"nobody waits", "a w A; b w B", ""},
		{"a chain", "a w A < B:w1; b w B < C:w2", ""},
		{"two callers", "a w A < B:w1; b w B < A:w2", "certain A b B a A"},
		{"three callers", "a w A < B:w1; b w B < C:w2; c w C < A:w3", "certain A c C b B a A"},
		{"two processes", "a w p < q:w1; b w q < p:w2", "possible p b q a p"},
		{"a caller and a process", "a w A < p:w1; b w p < A:w2", "possible A b p a A"},
		{"two circles", "a w A < B:w1; b w B < A:w2; c w C < D:w3; d w D < C:w4", "certain A b B a A; certain C d D c C"},
		{"a circle with two keys", "a w A < B:w1; b w B < A:w2; c w A < B:w1", "certain A b B c A"},
		{"nobody known", "a w _ < _:w1; b w _ < _:w2", ""},
		{"one of the circle is gone", "a w A < B:w1; b w B < !A:w2", ""},
		{"a key that was left", "a w ~A < B:w1; b w B < A:w2", ""},
		{"one reader of two has left", "a r ~A C < B:w1; b w B < A:w2", ""},

		{"readers do not wait for readers", "a r A < B:r1; b w B < A:w2", ""},
		{"a writer waits for each reader", "a r C A < B:w1; b w B < A:w2", "certain A b B a A"},
		{"a reader waits for a writer", "a w A < B:r1; b w B < A:r2", "certain A b B a A"},
		{"two readers want to write", "a r A B < A:w1 B:w2", "certain A a B a A"},
		{"two readers of two processes want to write", "a r p q < p:w1 q:w2", "possible p a q a p; possible p a p; possible q a q"},
		{"a reader and its second self", "a r A < B:w1 A:r2", "certain A a< B a A"},
		{"it reads behind readers alone", "a r A < B:r1 A:r2", ""},
		{"a free key", "a - < A:w1 B:w2; b w B < A:w1", "certain A b B a< A"},
		{"a foreign key", "a x A < B:w1; b w B < A:w2", ""},

		{"by the line", "a w X < C:w1 A:w2; c w A < C:w1", "certain A a< C c A"},
		{"by the line of a process", "a w X < p:w1 A:w2; c w A < p:w1", "possible A a< p c A"},
		{"by the line of a process, and out by the same", "a r A < c:w1 A:r2", "certain A a< c a A"},
		{"a reader passes readers in line", "a w X < c:r1 A:r2; c w A < c:w1", ""},
		{"a writer does not pass readers in line", "a w X < C:r1 A:w2; c w A < C:w1", "certain A a< C c A"},
		{"a reader waits for a writer further ahead", "a w X < C:w1 D:r3 A:r4; c w A < C:w1", "certain A a< C c A"},
		{"the gone are passed over", "a w X < !C:w1 A:w2; c w A < C:w1", ""},
		{"behind others in line", "a w A < X:w1 Y:w2 B:w3; b w B < A:w4", "certain A b B a A"},
		{"a set needs all its keys", "a w X < B:w1; b w A < B:w1; c w B < A:w2", "certain A c B b A"},

		{"a caller of two goroutines", "a w A < B:w1; b w B < A:w2; c w X < A:w3", "possible A b B a A"},
		{"the other goroutine is gone", "a w A < B:w1; b w B < A:w2; c w X < !A:w3", "certain A b B a A"},
		{"one id of two processes", "a w A@1 < B:w1; b w B < A@2:w2", "possible A b B a A"},
		{"two ids of one process", "a w A@1 < B@1:w1; b w B@1 < A@1:w2", "certain A b B a A"},

		{"an intent", "a r A < intent:B; b w B < A:w2", "possible A b B a A"},
		{"an intent behind a line", "a w X < A:w1 intent:B; b w B < A:w1", "possible A b B a< A"},
		{"nobody in line waits for an intent", "a r X < A:r1 intent:B; b w A intent:B", ""},
		{"two intents of nobody known", "a r A intent:_; b w B intent:_", ""},

		{"a caller waits for itself", "a w A < A:w1", "certain A a A"},
		{"a caller reads what it reads", "a r A < A:r1", ""},
		{"a caller waits for itself and another", "a w A < A:w1; b w X < A:w1", "possible A a A"},
		{"a caller waits for itself behind another", "a w A < X:w1 A:w2", "certain A a A"},
		{"perhaps with the same token", "a w A < X:w1 A:w2; b w Y < A:w2", "possible A a< X a A; possible A a A"},
		{"perhaps with the same token, to read", "a r A < X:w1 A:r2; b w Y < A:r2", "possible A a< X a A"},
		{"a caller writes what it reads with another", "a r A X < A:w1", "possible A a A"},
		{"a process waits for itself", "a w p < p:w1", "possible p a p"},
		{"nobody known waits for itself", "a w _ < _:w1", ""},
		{"an intent of its own", "a r A intent:A", "possible A a A"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := viewOf(t, statesOf(tt.states))
			if diff := cmp.Diff(strings.Join(v.told(), "; "), tt.want); diff != "" {
				t.Errorf("deadlocks (-got +want):\n%s", diff)
			}
		})
	}
}

func TestBehindDeadlock(t *testing.T) {
	t.Parallel()
	v := viewOf(t, statesOf("a w A < B:w1 C:w3 D:w4", "b w B < A:w2", "c w C < E:w5", "d w X < F:w6"))
	if got := v.deadlocks[0].Behind; got != 3 {
		t.Errorf("%d are behind the deadlock, want C, D and E", got)
	}
}

// Why a circle is only possible is said.
func TestDoubts(t *testing.T) {
	t.Parallel()
	for states, want := range map[string]string{
		"a w p < q:w1; b w q < p:w2":               "another goroutine",
		"a w A@1 < B:w1; b w B < A@2:w2":           "used by 2 processes",
		"a w A < B:w1; b w B < A:w2; c w X < A:w3": "waits more than once",
		"a r A < intent:B; b w B < A:w2":           "may not ask again",
		"a w X < c:w1 A:w2; c w A < c:w1":          "may be two requests",
		"a w A < A:w1; b w X < A:w1":               "have the token",
	} {
		v := viewOf(t, statesOf(states))
		if got := strings.Join(slices.Concat(v.deadlocks, v.selves)[0].Doubts, "; "); !strings.Contains(got, want) {
			t.Errorf("%s: doubts are %q, want %q", states, got, want)
		}
	}
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
		found, _ := deadlocks(m, 1000)
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
	if v.deadlocks[0].Behind != 10_000 {
		t.Errorf("%d are behind it", v.deadlocks[0].Behind)
	}
}
