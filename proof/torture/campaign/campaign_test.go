package campaign

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	folder, kept := t.TempDir(), filepath.Join(t.TempDir(), "a", "b")
	log, err := history.Create(filepath.Join(folder, "process-0.jsonl"), 0)
	if err != nil {
		t.Fatal(err)
	}
	log.Add(history.Event{Kind: history.Settled})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	found := []check.Finding{{Promise: check.Order, Text: "late", Events: []history.Event{{Kind: history.Note, Name: "x"}}}}
	drawn := 0
	for range 2 { // the second time over the first
		err = keep(folder, kept, found, func(h *history.History, f []check.Finding, where string) error {
			drawn = len(h.Events)
			if !reflect.DeepEqual(f, found) || where != kept {
				t.Errorf("asked to draw %v in %s", f, where)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if drawn != 1 {
		t.Errorf("asked to draw %d events, want the one that is kept", drawn)
	}
	text, err := os.ReadFile(filepath.Join(kept, "findings.txt"))
	if want := "order: late\n\t{\"at\":0,\"kind\":\"note\",\"process\":0,\"name\":\"x\"}\n"; string(text) != want || err != nil {
		t.Errorf("got findings %q, %v; want %q", text, err, want)
	}
}

func TestCommandRepeatsARound(t *testing.T) {
	t.Parallel()
	c := &Campaign{Options: Options{Seed: 7, Loads: []string{"queue", "sets"}}}
	got := c.command(Round{Number: 3, Topology: world.Ring}, 2)
	if want := "make torture SEED=7 TOPOLOGY=ring ROUND=3 FAULTS=2 LOAD=queue,sets"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSomeFindings(t *testing.T) {
	t.Parallel()
	found := make([]check.Finding, 7)
	for i := range found {
		found[i] = check.Finding{Promise: check.Order, Events: make([]history.Event, 20)}
	}
	text := some(found)
	if lines := strings.Count(text, "\n"); lines != 5*9+1 || !strings.HasSuffix(text, "and 2 more\n") {
		t.Errorf("got %d lines of seven findings, want 8 events of each of five, and that there are more:\n%s", lines, text)
	}
}

func TestScenario(t *testing.T) {
	t.Parallel()
	s := Scenario{
		Setup: Setup{Topology: world.Single}, Load: "sets", Names: []string{workerKill, "cut"},
		Every: time.Second, Lasts: 500 * time.Millisecond, For: 4 * time.Second,
	}
	r, err := s.round(1, Kinds([]world.Nemesis{{Name: "cut"}}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Faults {
		got = append(got, f.String())
	}
	want := []string{
		"1 worker-kill at 1s for 500ms", "2 cut at 1s for 500ms", "3 worker-kill at 2.5s for 500ms", "4 cut at 2.5s for 500ms",
	}
	if !reflect.DeepEqual(got, want) || r.Sort == Endless {
		t.Errorf("got %q of a round that is %s, want %q", got, r.Sort, want)
	}
	if _, err := s.round(1, Kinds(nil)); err == nil {
		t.Error("a fault that the world cannot do is no error")
	}
	s.Names, s.Endless = nil, true
	if r, err := s.round(1, nil); err != nil || len(r.Faults) != 0 || r.Sort != Endless {
		t.Errorf("without faults, and end of leases: got %+v, %v", r, err)
	}
}
