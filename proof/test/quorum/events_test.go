package quorum_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

// An eventLog keeps what hooks are told.
type eventLog struct {
	mu     sync.Mutex
	names  []string
	events []redislock.Event
}

func (r *eventLog) hooks() redislock.Hooks {
	hook := func(name string) func(context.Context, redislock.Event) {
		return func(_ context.Context, e redislock.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.names, r.events = append(r.names, name), append(r.events, e)
		}
	}
	return redislock.Hooks{
		Obtained: hook("obtained"), Refused: hook("refused"), Waiting: hook("waiting"), Waited: hook("waited"),
		Refreshed: hook("refreshed"), Lost: hook("lost"), Released: hook("released"),
	}
}

// take returns what was told since the last time.
func (r *eventLog) take() (names string, events []redislock.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names, events = strings.Join(r.names, " "), r.events
	r.names, r.events = nil, nil
	return names, events
}

// wantEvents waits until these were told, and checks what all events have in common.
func (r *eventLog) wantEvents(t *testing.T, want string, mode redislock.Mode, keys ...string) []redislock.Event {
	t.Helper()
	eventually(t, "the events "+want, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.names) >= len(strings.Fields(want))
	})
	got, events := r.take()
	if got != want {
		t.Fatalf("got events %q, want %q", got, want)
	}
	for i, e := range events {
		if !slices.Equal(e.Keys, keys) || e.Mode != mode || e.Name != "stock" {
			t.Errorf("event %d: got %v %s %q, want %v %s %q", i, e.Keys, e.Mode, e.Name, keys, mode, "stock")
		}
	}
	return events
}

// What happens to a lock is one event, however many nodes there are, and what happens at a minority of them is none. Each key is
// told once.
func TestEvents(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		r := &eventLog{}
		client := w.newClient(t, quorum.WithHooks(r.hooks()))
		err := client.With(t.Context(), []string{"k", "l", "k"}, brisk, &redislock.Options{Name: "stock"}, func(ctx context.Context) error {
			w.wantHolders(t, "k", 3)
			w.steal(t, 2)
			time.Sleep(2 * brisk)
			r.wantEvents(t, "obtained", redislock.ModeWrite, "k", "l")
			w.steal(t, 0, 1, 2)
			wantLost(t, ctx)
			r.wantEvents(t, "lost", redislock.ModeWrite, "k", "l")
			return nil
		})
		wantIs(t, err, redislock.ErrLockLost)
		r.wantEvents(t, "released", redislock.ModeWrite, "k", "l")
		for _, what := range []string{"obtained", "refreshed", "released"} {
			eventually(t, "the hooks of the last node are told that it was "+what, func() bool { return w.count(what, 2) > 0 })
		}
	})
}
