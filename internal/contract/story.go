package contract

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed-14de3678/redislock"
)

// A happening is what hooks were told once.
type happening struct {
	name string
	redislock.Event
	said any // under the key word in its context
}

// word is a key in the contexts of callers.
type word struct{}

// A story is what hooks were told.
type story struct {
	mu   sync.Mutex
	all  []happening
	seen int // how much of it the case has looked at
}

func (s *story) hooks() redislock.Hooks {
	note := func(name string) func(context.Context, redislock.Event) {
		return func(ctx context.Context, e redislock.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.all = append(s.all, happening{name, e, ctx.Value(word{})})
		}
	}
	return redislock.Hooks{
		Obtained: note("obtained"), Refused: note("refused"), Waiting: note("waiting"), Waited: note("waited"),
		Refreshed: note("refreshed"), Lost: note("lost"), Released: note("released"),
	}
}

// take returns what was told since it was last called.
func (s *story) take() []happening {
	synctest.Wait() // a loss is told on a goroutine of its own
	s.mu.Lock()
	defer s.mu.Unlock()
	since := slices.Clone(s.all[s.seen:])
	s.seen = len(s.all)
	return since
}

// forget passes over what was told.
func (s *story) forget() { s.take() }

// want checks what was told since then, and returns it.
func (s *story) want(t *testing.T, names string) []happening {
	t.Helper()
	since := s.take()
	var got []string
	for _, h := range since {
		got = append(got, h.name)
	}
	if !slices.Equal(got, strings.Fields(names)) {
		t.Fatalf("got the events %q, want %q", got, names)
	}
	return since
}

// wantOrder checks that the events of each Obtain and of its lock are the story of one lock. All of them say the same
// of the lock. It begins once, each wait has an end, a loss is told once, and nothing follows the end.
func (s *story) wantOrder(t *testing.T) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	locks := map[uint64][]happening{}
	for _, h := range s.all {
		locks[h.ID] = append(locks[h.ID], h)
	}
	for id, told := range locks {
		counts, ended := map[string]int{}, false
		for _, h := range told {
			counts[h.name]++
			if !slices.Equal(told[0].Keys, h.Keys) || h.Mode != told[0].Mode || h.Name != told[0].Name || h.Way != told[0].Way {
				t.Errorf("%s: got %+v of the lock %+v", h.name, h.Event, told[0].Event)
			}
			has := counts["obtained"] == 1
			switch h.name {
			case "waited":
				if counts["waiting"] != 1 || has {
					t.Errorf("waited without having begun: %+v", told)
				}
			case "lost", "released":
				if !has || !h.Ended {
					t.Errorf("%s: got %+v, want it after obtained, and Ended", h.name, h.Event)
				}
				ended = true
			case "obtained", "refused":
				if h.Ended || ended {
					t.Errorf("%s: got %+v, which has ended", h.name, h.Event)
				}
			}
		}
		if id == 0 || counts["obtained"]+counts["refused"] != 1 || counts["waiting"] != counts["waited"] || counts["lost"] > 1 {
			t.Errorf("lock %d: got %v", id, counts)
		}
	}
}

// count returns how often an event was told since the case last looked.
func (s *story) count(name string) (n int) {
	for _, h := range s.take() {
		if h.name == name {
			n++
		}
	}
	return n
}

// wantAll checks that only this was told so far.
func (s *story) wantAll(t *testing.T, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.all {
		if h.name != name {
			t.Errorf("%s was told too early", h.name)
		}
	}
}
