package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
)

var dotLine = regexp.MustCompile(`^(digraph redislock \{|\}|  \w+=\w+;|  (node|edge) \[.*\];|  (p|left)\d+( -> (p|left)\d+)? \[label="([^"\\]|\\[\\"n])*"(, \w+=\w+)*\];)$`)

func TestDot(t *testing.T) {
	t.Parallel()
	states := statesOf("a w A < B:w1 C:w3 p:r4 p:r5", "b w B < A:w2", "c w ~A < C:w3", "d r C q < s:w6 intent:x", "e w s < s:w7")
	states[0].Key = "\"quo\"te\\ \n\x1b]0;\xff{|<b>"
	states[3].Holders[1].Metadata = `q \N "x`
	v := viewOf(t, states)
	var b bytes.Buffer
	if err := v.writeDot(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if !dotLine.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("not in the language of dot: %s", line)
		}
	}
	if n := strings.Count(b.String(), "penwidth"); n != 4 {
		t.Errorf("%d things are red, want two parties and two arrows:\n%s", n, &b)
	}
	if !strings.Contains(b.String(), `\n2 times"`) {
		t.Errorf("the same arrow twice is not counted:\n%s", &b)
	}
	if dot, err := exec.LookPath("dot"); err == nil { // a check of the check
		cmd := exec.Command(dot, "-Tsvg")
		cmd.Stdin = &b
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("</svg>")) {
			t.Errorf("dot: %v: %.500s", err, out)
		}
	}
}

// A circle is red even if the party that waits stands far back in the line.
func TestDotOfLongLine(t *testing.T) {
	t.Parallel()
	for states, want := range map[string]struct{ arrows, red int }{
		"a w A < X:w1 Y:w2 B:w3; b w B < A:w4": {5, 4},
		"a w A < X:w1 A:w2":                    {3, 2},
	} {
		var b bytes.Buffer
		err := viewOf(t, statesOf(states)).writeDot(&b)
		if err != nil || strings.Count(b.String(), " -> ") != want.arrows || strings.Count(b.String(), "penwidth") != want.red {
			t.Errorf("%s: error %v:\n%s", states, err, &b)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	v := viewOf(t, statesOf("a w A@1 < B:w1 p:r3", "b w B < A@1:w2", "c r ~x y < p:w4 intent:z"))
	var b bytes.Buffer
	if err := v.writeJSON(&b, false); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		var o struct {
			Type, ID, Caller, From, To, Key, Why, Mode, Wants string
			Certain                                           bool
			Steps                                             []struct{ Party, Why string }
			Since                                             time.Time
			Place, Behind                                     int
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, strings.Join(strings.Fields(fmt.Sprint(o.Type, " ", o.ID, o.Caller, " ", o.From, " ", o.To, " ", o.Key, " ", o.Why, " ", o.Mode,
			"/", o.Wants, " ", o.Place, " ", o.Steps, " ", o.Certain, " ", o.Behind)), " "))
	}
	want := strings.Split(strings.TrimSpace(`
deadlock / 0 [{p2 held} {p1 held}] true 1
party p1A / 0 [] false 0
party p2B / 0 [] false 0
party p3 / 0 [] false 0
party p4 / 0 [] false 0
party p5 / 0 [] false 0
edge p2 p1 a held write/write 1 [] false 0
edge p3 p2 a line write/read 2 [] false 0
edge p1 p2 b held write/write 1 [] false 0
edge p3 c left read/write 1 [] false 0
edge p3 p4 c held read/write 1 [] false 0
edge p5 p3 c line write/write 0 [] false 0`), "\n")
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("objects (-got +want):\n%s", diff)
	}
}

// The edges that are left out follow from the others.
func TestEdgesReach(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		m := newModel(randomStates(rand.New(rand.NewPCG(seed, 6))))
		some, all := &graph{}, &graph{}
		for range m.parties {
			some.add(0)
			all.add(0)
		}
		for _, e := range m.edges() {
			if e.to != nobody {
				some.edge(e.from, e.to)
			}
		}
		for _, r := range m.requests {
			for _, s := range r.stands {
				for _, p := range m.holders[s.state] {
					if p != nobody && m.isHeldAgainst(s.state, s.mode) {
						all.edge(r.party, p)
					}
				}
				for _, other := range m.lines[s.state][:s.ahead] {
					if s.mode == redislock.ModeWrite || other.mode == redislock.ModeWrite {
						all.edge(r.party, m.requests[other.request].party)
					}
				}
			}
		}
		if diff := cmp.Diff(reaches(some), reaches(all)); diff != "" {
			t.Fatalf("seed %d: %v: who can be reached (-got +want):\n%s", seed, m.states, diff)
		}
	}
}
