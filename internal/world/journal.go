package world

import (
	"context"
	"sync"

	"github.com/seed-14de3678/redislock"
)

// A Journal gathers the events that hooks get.
type Journal struct {
	mu     sync.Mutex
	events []string         // under mu
	errs   map[string]error // under mu; the last one of each event
}

// Hooks returns hooks that write the journal.
func (j *Journal) Hooks() redislock.Hooks {
	j.errs = make(map[string]error)
	note := func(name string) func(context.Context, redislock.Event) {
		return func(_ context.Context, e redislock.Event) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.events = append(j.events, name)
			j.errs[name] = e.Err
		}
	}
	return redislock.Hooks{
		Obtained: note("obtained"), Refused: note("refused"), Refreshed: note("refreshed"),
		Lost: note("lost"), Released: note("released"),
	}
}

// Count returns how many events of this name there were.
func (j *Journal) Count(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, event := range j.events {
		if event == name {
			n++
		}
	}
	return n
}

// Err returns the error of the last event of this name.
func (j *Journal) Err(name string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.errs[name]
}
