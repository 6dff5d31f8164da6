package api_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A told gathers what hooks are told of Obtains.
type told struct {
	mu     sync.Mutex
	events []happened
	panics string // the hook that does
}

func (h *told) hooks() redislock.Hooks {
	note := func(name string) func(context.Context, redislock.Event) {
		return func(_ context.Context, e redislock.Event) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, happened{name, e})
			if h.panics == name {
				panic(name)
			}
		}
	}
	return redislock.Hooks{
		Waiting: note("waiting"), Waited: note("waited"), Obtained: note("obtained"), Refused: note("refused"),
		Lost: note("lost"), Released: note("released"),
	}
}

// names returns what was told, and forgets it.
func (h *told) names() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, e := range h.events {
		names = append(names, e.Name)
	}
	h.events = nil
	return strings.Join(names, " ")
}

const tick = time.Second

// patient are the options of those who wait.
func patient() map[string]*redislock.Options {
	return map[string]*redislock.Options{
		"poll":  {RetryStrategy: redislock.LinearBackoff(tick), Name: "a job"},
		"queue": {Queue: true, Name: "a job"},
	}
}

// What is told of an Obtain that waits: when, for how long, and why.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for way, opt := range patient() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				var h told
				client := world.NewClient(t, w.RDB, redislock.WithHooks(h.hooks()))
				holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
				time.AfterFunc(5*tick/2, func() { _ = holder.Release(t.Context()) })
				lock := check.Must[*redislock.Lock](t)(client.ObtainRead(t.Context(), w.Keys("a", "b"), world.Long, opt))
				attempts, took := 4, 3*tick // polling
				if way == "queue" {
					attempts, took = 2, 5*tick/2
				}
				check.NoError(t, lock.Release(t.Context()))
				event := redislock.Event{ID: 1, Keys: w.Keys("a", "b"), Mode: redislock.ModeRead, Name: "a job", Way: way}
				waiting, waited, released := event, event, event
				waiting.Attempts, waiting.Err = 1, redislock.ErrNotObtained
				waited.Attempts, waited.Duration = attempts, took
				obtained := waited
				obtained.Expires = lock.Deadline()
				released.Attempts, released.Ended = 1, true
				if way == "queue" {
					if asked := h.events[1].Event.Attempts; asked == 3 { // it has subscribed meanwhile
						waited.Attempts, obtained.Attempts = asked, asked
					}
					released.Held = h.events[3].Event.Held // it counts from before it was granted
				}
				want := []happened{{"waiting", waiting}, {"waited", waited}, {"obtained", obtained}, {"released", released}}
				if diff := cmp.Diff(want, numbered(h.events), cmpopts.EquateErrors()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The waiting has an end also if the Client is closed meanwhile.
func TestWaitedUntilClose(t *testing.T) {
	t.Parallel()
	for way, opt := range patient() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				var h told
				client := world.NewClient(t, w.RDB, redislock.WithHooks(h.hooks()))
				check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
				time.AfterFunc(5*tick/2, client.Close)
				_, err := client.Obtain(t.Context(), w.Keys("a"), world.Long, opt)
				check.Is(t, h.events[1].Event.Err, err)
				if got := h.names(); got != "waiting waited refused" || err == nil {
					t.Errorf("got %s, and error %v", got, err)
				}
			})
		})
	}
}

// stops is a strategy that waits a few times and then stops, or panics.
type stops struct {
	left   int
	panics bool
	before func() // what it does first; may be nil
}

func (s *stops) NextBackOff() time.Duration {
	if s.before != nil {
		s.before()
	}
	if s.left--; s.left >= 0 {
		return tick
	}
	if s.panics {
		panic("strategy")
	}
	return backoff.Stop
}

// Nobody waits if there is to be no other attempt.
func TestNotWaiting(t *testing.T) {
	t.Parallel()
	after := func(n int) redislock.RetryStrategy {
		return func() redislock.BackOff { return &stops{left: n} }
	}
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var h told
		client := world.NewClient(t, w.RDB, redislock.WithHooks(h.hooks()))
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("held"), world.Long, nil))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		ends, end := context.WithCancel(t.Context())
		ending := func() redislock.BackOff { return &stops{left: 1, before: end} }
		for _, test := range []struct {
			name, key string
			ctx       context.Context
			opt       redislock.Options
			want      string
		}{
			{"once", "held", t.Context(), redislock.Options{}, "refused"},
			{"stops at once", "held", t.Context(), redislock.Options{RetryStrategy: after(0)}, "refused"},
			{"stops at once, with intent", "held", t.Context(), redislock.Options{RetryStrategy: after(0), Intent: true}, "refused"},
			{"stops later", "held", t.Context(), redislock.Options{RetryStrategy: after(3)}, "waiting waited refused"},
			{"free", "free", t.Context(), redislock.Options{RetryStrategy: after(3)}, "obtained"},
			{"free, in line", "line", t.Context(), redislock.Options{Queue: true}, "obtained"},
			{"ended", "held", ended, redislock.Options{RetryStrategy: after(3)}, "refused"},
			{"ends meanwhile", "held", ends, redislock.Options{RetryStrategy: ending}, "refused"},
			{"ended, in line", "held", ended, redislock.Options{Queue: true}, "refused"},
		} {
			_, _ = client.Obtain(test.ctx, w.Keys(test.key), world.Long, &test.opt)
			if got := h.names(); got != test.want {
				t.Errorf("%s: got %q, want %q", test.name, got, test.want)
			}
		}
	})
}

// If a strategy or a hook panics the waiting has ended, too, and nothing is left of it.
func TestWaitedAfterPanic(t *testing.T) {
	t.Parallel()
	strategy := &redislock.Options{RetryStrategy: func() redislock.BackOff { return &stops{left: 2, panics: true} }, Intent: true}
	for name, test := range map[string]struct {
		opt    *redislock.Options
		panics string
	}{
		"strategy":             {strategy, ""},
		"waiting":              {patient()["poll"], "waiting"},
		"waiting, in line":     {patient()["queue"], "waiting"},
		"waited after waiting": {&redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(tick), 1)}, "waited"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				h := told{panics: test.panics}
				client := world.NewClient(t, w.RDB, redislock.WithHooks(h.hooks()))
				holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
				func() {
					defer func() {
						if recover() == nil {
							t.Error("nobody learns of the panic")
						}
					}()
					_, _ = client.Obtain(t.Context(), w.Keys("a"), world.Long, test.opt)
				}()
				want := "waiting waited refused"
				if test.panics == "waited" {
					want = "waiting waited"
				}
				if err := h.events[1].Event.Err; err == nil {
					t.Error("the hook is told of a lock")
				} else if test.panics == "waited" == strings.Contains(err.Error(), "panicked") || errors.Is(err, context.Canceled) {
					t.Errorf("got error %v", err)
				}
				if got := h.names(); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				time.Sleep(tick)
				check.NoError(t, holder.Release(t.Context()))
				world.WantNothing(t, w.RDB, w.Prefix)
			})
		})
	}
}

// A label that is too long is refused before anything is sent.
func TestNameTooLong(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		name := strings.Repeat("x", 129)
		_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{Name: name})
		if err == nil || !strings.Contains(err.Error(), "invalid Name") {
			t.Errorf("got error %v", err)
		}
		w.WantFree(t, w.Key("a"))
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{Name: name[1:]}))
		if value := check.Must[string](t)(w.RDB.Get(t.Context(), w.Key("a")).Result()); strings.Contains(value, "x"+name[:20]) {
			t.Errorf("the name is in Redis: %q", value)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}
