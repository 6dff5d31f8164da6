package tree

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"

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
	if dot, err := exec.LookPath("dot"); err == nil { // a check of the check
		cmd := exec.Command(dot, "-Tsvg")
		cmd.Stdin = &b
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("</svg>")) {
			t.Errorf("dot: %v: %.500s", err, out)
		}
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
