package api_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// numbered returns the events with 1, 2, … in place of their IDs, in the order in which those came up.
func numbered(events []happened) []happened {
	var ids []uint64
	events = slices.Clone(events)
	for i := range events {
		e := &events[i].Event
		if !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
		e.ID = uint64(slices.Index(ids, e.ID)) + 1
	}
	return events
}

// All events of one Obtain and its lock have one ID, by which two locks of the same name are told apart.
func TestEventsAreOfOneLock(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		var h told
		client := world.NewClient(t, w.RDB, redislock.WithHooks(h.hooks()))
		opt := &redislock.Options{Fenced: true, Watchdog: true}
		first := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a", "b", "c"), world.Long, opt))
		second := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("d"), world.Long, opt))
		_, err := client.Obtain(t.Context(), w.Keys("d"), world.Long, nil)
		check.Is(t, err, redislock.ErrNotObtained)
		check.NoError(t, first.ReleaseKeys(t.Context(), w.Keys("a")))
		check.NoError(t, first.Release(t.Context()))
		check.Is(t, first.Release(t.Context()), redislock.ErrLockNotHeld)
		check.NoError(t, second.Release(t.Context()))

		type event struct {
			Name  string
			ID    uint64
			Fence int64
			Ended bool
		}
		one, two := first.Fence(), second.Fence()
		want := []event{
			{"obtained", 1, one, false},
			{"obtained", 2, two, false},
			{"refused", 3, 0, false},
			{"released", 1, one, false},
			{"released", 1, one, true},
			{"released", 1, one, true},
			{"released", 2, two, true},
		}
		var got []event
		for _, e := range numbered(h.events) {
			got = append(got, event{e.Name, e.Event.ID, e.Event.Fence, e.Event.Ended})
			if !e.Event.Expires.IsZero() {
				t.Errorf("%s: got Expires %v of a lock with a watchdog", e.Name, e.Event.Expires)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if h.events[0].Event.ID == 0 {
			t.Error("an ID is 0")
		}
	})
}

// A lock that nothing renews says when it ends; so does its Refresh, and an attached lock once it is known.
func TestEventsSayWhenItExpires(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var got []redislock.Event
		note := func(_ context.Context, e redislock.Event) { got = append(got, e) }
		client := world.NewClient(t, w.RDB, redislock.WithHooks(redislock.Hooks{Obtained: note, Refreshed: note, Released: note}))
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		want := []time.Time{lock.Deadline()}
		time.Sleep(time.Second)
		check.NoError(t, lock.Refresh(t.Context(), world.Long))
		want = append(want, lock.Deadline())
		attached := client.Attach(w.Keys("a"), lock.Token())
		check.NoError(t, attached.Refresh(t.Context(), time.Minute))
		want = append(want, attached.Deadline())
		check.NoError(t, lock.Release(t.Context()))
		check.Is(t, attached.Refresh(t.Context(), time.Minute), redislock.ErrLockNotHeld)
		var expires []time.Time
		for _, e := range got {
			expires = append(expires, e.Expires)
		}
		if diff := cmp.Diff(append(want, time.Time{}, time.Time{}), expires); diff != "" {
			t.Errorf("Expires (-want +got):\n%s", diff)
		}
		if got[0].ID != got[1].ID || got[2].ID == got[0].ID || got[2].ID == 0 {
			t.Errorf("got IDs %d, %d, and %d of the attached lock", got[0].ID, got[1].ID, got[2].ID)
		}
	})
}

// An Upgrade gives the lock a new number, which later events say.
func TestEventsSayTheNumber(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		var h told
		client := world.NewClient(t, w.RDB, redislock.WithHooks(h.hooks()))
		lock := check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), w.Keys("a"), world.Long, &redislock.Options{Fenced: true}))
		before := lock.Fence()
		check.NoError(t, lock.Upgrade(t.Context()))
		check.NoError(t, lock.Release(t.Context()))
		if got := h.events[0].Event.Fence; got != before {
			t.Errorf("obtained: got number %d, want %d", got, before)
		}
		if got := h.events[1].Event.Fence; got != lock.Fence() || got <= before {
			t.Errorf("released: got number %d, want %d, which is greater than %d", got, lock.Fence(), before)
		}
	})
}

func TestHooksAnd(t *testing.T) {
	var got []string
	hooks := func(who string) redislock.Hooks {
		note := func(what string) func(context.Context, redislock.Event) {
			return func(_ context.Context, e redislock.Event) { got = append(got, who+" "+what+" "+e.Name) }
		}
		return redislock.Hooks{
			Obtained: note("obtained"), Refused: note("refused"), Waiting: note("waiting"), Waited: note("waited"),
			Refreshed: note("refreshed"), Lost: note("lost"), Released: note("released"),
		}
	}
	call := func(h redislock.Hooks) string {
		got = nil
		for i, hook := range []func(context.Context, redislock.Event){
			h.Obtained, h.Refused, h.Waiting, h.Waited, h.Refreshed, h.Lost, h.Released,
		} {
			if hook != nil {
				hook(t.Context(), redislock.Event{Name: string(rune('a' + i))})
			}
		}
		return strings.Join(got, ", ")
	}
	const each = "1 obtained a, 2 obtained a, 1 refused b, 2 refused b, 1 waiting c, 2 waiting c, 1 waited d, 2 waited d, " +
		"1 refreshed e, 2 refreshed e, 1 lost f, 2 lost f, 1 released g, 2 released g"
	if got := call(hooks("1").And(redislock.Hooks{}, hooks("2"))); got != each {
		t.Errorf("got %s", got)
	}
	if got := call(redislock.Hooks{}.And(redislock.Hooks{Lost: hooks("1").Lost})); got != "1 lost f" {
		t.Errorf("got %s", got)
	}
	if got := call(redislock.Hooks{}.And()); got != "" {
		t.Errorf("got %s of no hooks", got)
	}
}
