package work

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A layer says which hooks tell something.
type layer int

const (
	client layer = iota // of a redislock.Client, perhaps about a part of a lock
	wholes              // of a Client of packages quorum and multi
)

// holds are the locks of a process by the names that their events have. Those of one owner of package reentrant share one.
type holds struct {
	mu  sync.Mutex
	all map[string][]*hold
}

func (s *holds) add(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string][]*hold{}
	}
	s.all[h.name()] = append(s.all[h.name()], h)
}

func (s *holds) drop(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := h.name()
	rest := slices.DeleteFunc(slices.Clone(s.all[name]), func(other *hold) bool { return other == h })
	if s.all[name] = rest; len(rest) == 0 {
		delete(s.all, name)
	}
}

func (s *holds) named(name string) []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[name] // which is not changed any more
}

// name is that of the events of the lock.
func (h *hold) name() string { return cmp.Or(h.events, strconv.Itoa(h.op)) }

// hooks are those of the clients of a layer.
func (p *process) hooks(l layer) redislock.Hooks {
	tell := func(fn func(*hold, redislock.Event)) func(context.Context, redislock.Event) {
		return func(_ context.Context, e redislock.Event) {
			for _, h := range p.holds.named(e.Name) {
				if (l == wholes) == h.whole {
					fn(h, e)
				}
			}
		}
	}
	return redislock.Hooks{
		Waiting:  tell(func(h *hold, e redislock.Event) { h.waits(e.Way) }),
		Obtained: tell(func(h *hold, e redislock.Event) { h.obtained(e) }),
		Lost:     tell(func(h *hold, _ redislock.Event) { h.lost(byHook) }),
		Released: tell(func(h *hold, e redislock.Event) { h.freed(e.Err) }),
		Refreshed: func(_ context.Context, e redislock.Event) { // of a part, perhaps, which may change the whole
			for _, h := range p.holds.named(e.Name) {
				h.renewed()
			}
		},
	}
}

// obtained takes note of how a lock has come: one that Redis was never asked for was passed on.
func (h *hold) obtained(e redislock.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lock == nil && h.pkg == history.Plain && e.Way == "queue" && e.Attempts == 0 {
		h.came = history.Passed
	}
}

// waits writes down that an obtain has to wait.
func (h *hold) waits(way string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lock == nil && (way == "queue") == (h.way == history.Queue) {
		h.add(history.Event{Kind: history.Waiting})
	}
}
