package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An eventful is what happened to one hook, as a whole.
type eventful struct {
	Hook  string
	Page  string // of its context
	Event redislock.Event
	Err   string // of the event
}

// events are all hooks of a list, each of which notes what it is told.
func events(note func(eventful)) []redislock.Hooks {
	var mu sync.Mutex
	hook := func(name string) func(context.Context, redislock.Event) {
		return func(ctx context.Context, e redislock.Event) {
			mu.Lock()
			defer mu.Unlock()
			said := eventful{name, check.PageOf(ctx), e, ""}
			if e.Err != nil {
				said.Err = e.Err.Error()
			}
			said.Event.Err = nil
			note(said)
		}
	}
	return []redislock.Hooks{
		{Obtained: hook("obtained")},
		{Refused: hook("refused")},
		{Waiting: hook("waiting")},
		{Waited: hook("waited")},
		{Refreshed: hook("refreshed")},
		{Lost: hook("lost")},
		{Released: hook("released")},
	}
}

// everything has everything happen that hooks are told of.
func everything(ctx context.Context, t *testing.T, w *world.World, hooks ...redislock.Hooks) {
	t.Helper()
	client := w.Prefixed(t, redislock.WithHooks(hooks...)).Client
	defer client.Close()
	a := []string{"a"}
	lock := check.Must[*redislock.Lock](t)(client.ObtainSet(ctx, redislock.Set{Write: a, Read: []string{"b"}}, time.Minute,
		&redislock.Options{Name: "first", Fenced: true, HoldAtLeast: 10 * time.Second}))
	time.Sleep(time.Second)
	check.NoError(t, lock.Refresh(ctx, time.Minute))
	_, err := client.ObtainRead(ctx, a, time.Minute, &redislock.Options{
		Name: "second", RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Second), 1),
	})
	check.Is(t, err, redislock.ErrNotObtained)
	check.NoError(t, lock.Release(ctx))
	check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{"c"}, time.Minute, &redislock.Options{Name: "third", Watchdog: true}))
	check.NoError(t, w.RDB.Del(ctx, w.Key("c")).Err())
	time.Sleep(time.Minute)
	check.Is(t, client.Attach(a, "t").Release(ctx), redislock.ErrLockNotHeld)
	synctest.Wait()
}

// Each hook is told all that its event says, with the context of the call that has caused it, and so is a second one.
func TestEventsSayAll(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var got, again []eventful
		began := time.Now()
		hooks := append(events(func(e eventful) { got = append(got, e) }), events(func(e eventful) { again = append(again, e) })...)
		everything(check.OnPage(t.Context(), "mine"), t, w, hooks...)
		fence := got[0].Event.Fence
		first, id := []string{"a", "b"}, got[0].Event.ID
		second, third, a := []string{"a"}, []string{"c"}, redislock.ModeWrite
		const window = time.Minute - 602*time.Millisecond
		const conflict = `redislock: "a" is write-locked by a holder that says nothing of itself, `
		said := func(hook, page, err string, e redislock.Event) eventful { return eventful{hook, page, e, err} }
		want := []eventful{
			said("obtained", "mine", "", redislock.Event{
				ID: id, Keys: first, Mode: a, Name: "first", Way: "once", Attempts: 1, Fence: fence, Expires: began.Add(window),
			}),
			said("refreshed", "mine", "", redislock.Event{
				ID: id, Keys: first, Mode: a, Name: "first", Way: "once", Attempts: 1, Held: time.Second, Fence: fence,
				Expires: began.Add(time.Second + window),
			}),
			said("waiting", "mine", conflict+"1m00s left", redislock.Event{
				ID: id + 1, Keys: second, Mode: redislock.ModeRead, Name: "second", Way: "poll", Attempts: 1,
			}),
			said("waited", "mine", conflict+"59s left", redislock.Event{
				ID: id + 1, Keys: second, Mode: redislock.ModeRead, Name: "second", Way: "poll", Duration: time.Second, Attempts: 2,
			}),
			said("refused", "mine", conflict+"59s left", redislock.Event{
				ID: id + 1, Keys: second, Mode: redislock.ModeRead, Name: "second", Way: "poll", Duration: time.Second, Attempts: 2,
			}),
			said("released", "mine", "", redislock.Event{
				ID: id, Keys: first, Mode: a, Name: "first", Way: "once", Attempts: 1, Held: 2 * time.Second, Kept: 8 * time.Second,
				Fence: fence, Ended: true,
			}),
			said("obtained", "mine", "", redislock.Event{ID: id + 2, Keys: third, Mode: a, Name: "third", Way: "once", Attempts: 1}),
			said("lost", "", `redislock: lock lost: "c"`, redislock.Event{
				ID: id + 2, Keys: third, Mode: a, Name: "third", Way: "once", Held: window / 3, Ended: true,
			}),
			said("released", "mine", `redislock: release "a": lock not held: lost "a"`, redislock.Event{
				ID: id + 3, Keys: second, Mode: a, Attempts: 1, Ended: true,
			}),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("what the second hooks were told (-first +second):\n%s", diff)
		}
	})
}

// A Client with one hook calls that one, whichever it is.
func TestEachHookAlone(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var last string
		for i, hooks := range events(func(e eventful) { last = e.Hook }) {
			last = ""
			everything(t.Context(), t, w, hooks)
			if want := []string{"obtained", "refused", "waiting", "waited", "refreshed", "lost", "released"}[i]; last != want {
				t.Errorf("got the last event %q, want %q", last, want)
			}
			check.NoError(t, w.RDB.Del(t.Context(), w.Keys("a", "b", "c")...).Err())
		}
	})
}

// The log names 20 keys of a set without their prefix, and says how many more there are.
func TestLogOfKeys(t *testing.T) {
	for n, more := range map[int]string{1: "", 2: "", 20: "", 21: " more_keys=1", 45: " more_keys=25"} {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			var book check.Log
			client := w.Prefixed(t, redislock.WithLogger(slog.New(&book))).Client
			keys := world.Numbered("k", n)
			lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, time.Minute, world.Watched))
			check.NoError(t, w.RDB.Del(t.Context(), w.Key(keys[n-1])).Err())
			<-lock.Lost()
			synctest.Wait()
			want := fmt.Sprintf("WARN redislock: lock lost keys=%v%s error=redislock: lock lost: %q", keys[:min(n, 20)], more, keys[n-1])
			if diff := cmp.Diff([]string{want}, book.Lines()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}
