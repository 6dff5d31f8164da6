package quorum_test

import (
	"context"
	"errors"
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
	said   []any // the word of each context
}

func (r *eventLog) hooks() redislock.Hooks {
	hook := func(name string) func(context.Context, redislock.Event) {
		return func(ctx context.Context, e redislock.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.names, r.events, r.said = append(r.names, name), append(r.events, e), append(r.said, ctx.Value(word{}))
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
	r.names, r.events, r.said = nil, nil, nil
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

// Each thing that happens to a lock is one event, however many nodes there are.
func TestEvents(t *testing.T) {
	named := func(opt redislock.Options) *redislock.Options {
		opt.Name = "stock"
		return &opt
	}
	t.Run("a life", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			r := &eventLog{}
			client := w.newClient(t, quorum.WithHooks(r.hooks()))
			ctx := context.WithValue(t.Context(), word{}, "said")
			lock := must[*quorum.Lock](t)(client.ObtainMixed(ctx, []string{"b", "a", "b"}, []string{"c", "a"}, long, named(redislock.Options{})))
			expires := []time.Time{lock.Deadline(), {}, {}, {}, {}}
			time.Sleep(time.Second)
			noError(t, lock.Refresh(ctx, long))
			expires[1] = lock.Deadline()
			noError(t, lock.Release(ctx))
			wantIs(t, lock.Refresh(ctx, long), redislock.ErrLockNotHeld)
			wantIs(t, lock.Release(ctx), redislock.ErrLockNotHeld)
			if slices.ContainsFunc(r.said, func(word any) bool { return word != "said" }) {
				t.Errorf("the contexts say %v", r.said)
			}
			events := r.wantEvents(t, "obtained refreshed released refreshed released", redislock.ModeWrite, "b", "a", "c")
			if e := events[0]; e.Attempts != 1 || e.Way != redislock.WayOnce || e.Err != nil || e.Held != 0 {
				t.Errorf("obtained: %+v", e)
			}
			for i, e := range events {
				if e.ID == 0 || e.ID != events[0].ID || !e.Expires.Equal(expires[i]) || e.Ended != (i == 2 || i == 4) {
					t.Errorf("event %d: %+v, want the ID of the first, Expires %v", i, e, expires[i])
				}
			}
			for i, e := range events[1:] {
				if e.Held < time.Second || e.Held > soon || e.Attempts != 1 || (e.Err != nil) != (i > 1) || e.Kept != 0 || e.Way != redislock.WayOnce {
					t.Errorf("event %d: %+v", i+1, e)
				}
			}
			for _, what := range []string{"obtained", "refreshed", "released"} {
				eventually(t, "the hooks of the last node are told that it was "+what, func() bool { return w.count(what, 2) > 0 })
			}
		})
	})
	t.Run("waiting", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			r := &eventLog{}
			client := w.newClient(t, quorum.WithHooks(r.hooks()))
			polling := redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
			w.block(t, "k", time.Second, 0, 1)
			_ = must[*quorum.Lock](t)(client.ObtainRead(t.Context(), []string{"k"}, time.Second, named(polling)))
			events := r.wantEvents(t, "waiting waited obtained", redislock.ModeRead, "k")
			if e := events[0]; e.Attempts != 1 || e.Way != redislock.WayPoll || !errors.Is(e.Err, redislock.ErrNotObtained) || e.Duration > time.Second/2 {
				t.Errorf("waiting: %+v", e)
			}
			for _, e := range events[1:] {
				if e.Attempts < 3 || e.Duration < time.Second/2 || e.Way != redislock.WayPoll || e.Err != nil {
					t.Errorf("waited, obtained: %+v", e)
				}
			}
			if before, waited, all := events[0].Duration, events[1].Duration, events[2].Duration; before+waited > all {
				t.Errorf("it took %v before the wait, %v to wait, %v altogether", before, waited, all)
			}
			time.Sleep(long)

			w.block(t, "k", long, 0, 1)
			polling.Wait = time.Second
			_, err := client.Obtain(t.Context(), []string{"k"}, long, named(polling))
			wantIs(t, err, redislock.ErrWaitOver)
			events = r.wantEvents(t, "waiting waited refused", redislock.ModeWrite, "k")
			for _, e := range events[1:] {
				if e.Err != err { //nolint:errorlint // it is this value
					t.Errorf("waited, refused: %+v", e)
				}
			}

			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = client.Obtain(ctx, []string{"k"}, long, named(polling))
			wantIs(t, err, context.Canceled)
			if e := r.wantEvents(t, "refused", redislock.ModeWrite, "k")[0]; e.Attempts != 0 {
				t.Errorf("refused without an attempt: %+v", e)
			}
			_, err = client.Obtain(t.Context(), []string{""}, long, named(polling))
			wantIs(t, err, redislock.ErrInvalidKeys)
			_, err = client.Obtain(t.Context(), []string{"k"}, -1, named(polling))
			wantIs(t, err, redislock.ErrInvalidTTL)
			if names, _ := r.take(); names != "" {
				t.Errorf("of bad arguments hooks are told %q", names)
			}
		})
	})
	t.Run("a loss", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			r := &eventLog{}
			client := w.newClient(t, quorum.WithHooks(r.hooks()))
			err := client.With(t.Context(), []string{"k"}, brisk, named(redislock.Options{}), func(ctx context.Context) error {
				w.wantHolders(t, "k", 3)
				w.steal(t, 2)
				time.Sleep(2 * brisk)
				r.wantEvents(t, "obtained", redislock.ModeWrite, "k") // a minority is no event
				w.steal(t, 0, 1, 2)
				wantLost(t, ctx)
				e := r.wantEvents(t, "lost", redislock.ModeWrite, "k")[0]
				if !errors.Is(e.Err, redislock.ErrLockLost) || e.Held < brisk || e.Duration < 0 || !e.Ended {
					t.Errorf("lost: %+v", e)
				}
				return nil
			})
			wantIs(t, err, redislock.ErrLockLost)
			if e := r.wantEvents(t, "released", redislock.ModeWrite, "k")[0]; !errors.Is(e.Err, redislock.ErrLockNotHeld) {
				t.Errorf("released: %+v", e)
			}
		})
	})
	t.Run("a loss while the hooks are told of the lock", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			r := &eventLog{}
			slow := redislock.Hooks{Obtained: func(context.Context, redislock.Event) {
				w.steal(t, 0, 1, 2)
				time.Sleep(long)
				if names, _ := r.take(); names != "" {
					t.Errorf("told before the lock was: %s", names)
				}
			}}
			client := w.newClient(t, quorum.WithHooks(redislock.JoinHooks(slow, r.hooks())))
			opt := named(redislock.Options{Watchdog: true, Fenced: true})
			lock := must[*quorum.Lock](t)(client.Obtain(t.Context(), []string{"k"}, brisk, opt))
			events := r.wantEvents(t, "obtained lost", redislock.ModeWrite, "k")
			for _, e := range events {
				if e.Fence != lock.Fence() || e.Fence == 0 || e.ID != events[0].ID {
					t.Errorf("got %+v, want number %d and the ID of the first", e, lock.Fence())
				}
			}
		})
	})
	t.Run("only the release finds the loss", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			r := &eventLog{}
			client := w.newClient(t, quorum.WithHooks(r.hooks()))
			lock := must[*quorum.Lock](t)(client.Obtain(t.Context(), []string{"k"}, long, named(redislock.Options{})))
			w.wantHolders(t, "k", 3)
			w.steal(t, 0, 1)
			wantIs(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
			r.wantEvents(t, "obtained released", redislock.ModeWrite, "k")
		})
	})
	t.Run("a Refresh finds the loss", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			r := &eventLog{}
			client := w.newClient(t, quorum.WithHooks(r.hooks()))
			lock := must[*quorum.Lock](t)(client.Obtain(t.Context(), []string{"k"}, long, named(redislock.Options{})))
			w.wantHolders(t, "k", 3)
			w.steal(t, 0, 1)
			wantIs(t, lock.Refresh(t.Context(), long), redislock.ErrLockNotHeld)
			r.wantEvents(t, "obtained lost refreshed", redislock.ModeWrite, "k")
		})
	})
}

// Of an Obtain that never returns, because its strategy panics, the hooks are told all the same that it waits no longer.
func TestWaitedAfterPanic(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		r := &eventLog{}
		client := w.newClient(t, quorum.WithHooks(r.hooks()))
		w.block(t, "k", long, 0, 1)
		func() {
			defer func() { _ = recover() }()
			_, _ = client.Obtain(t.Context(), []string{"k"}, long, &redislock.Options{
				Name: "stock", RetryStrategy: func() redislock.BackOff { return new(panicking) },
			})
			t.Error("it did not panic")
		}()
		for _, e := range r.wantEvents(t, "waiting waited refused", redislock.ModeWrite, "k") {
			if e.Err == nil {
				t.Errorf("got event %+v", e)
			}
		}
	})
}

// panicking is a strategy that says once how long to wait.
type panicking struct{ asked bool }

func (p *panicking) NextBackOff() time.Duration {
	if p.asked {
		panic("oops")
	}
	p.asked = true
	return time.Second
}

// For each beginning of a wait there is one end, whoever waits, and however it ends.
func TestWaitingAndWaited(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		var mu sync.Mutex
		waiting, most, begun := 0, 0, 0
		hooks := redislock.Hooks{
			Waiting: func(context.Context, redislock.Event) {
				mu.Lock()
				defer mu.Unlock()
				waiting++
				begun++
				most = max(most, waiting)
			},
			Waited: func(context.Context, redislock.Event) {
				mu.Lock()
				defer mu.Unlock()
				waiting--
			},
		}
		client := w.newClient(t, quorum.WithHooks(hooks))
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*50*time.Millisecond)
				defer cancel()
				lock, err := client.Obtain(ctx, []string{"k"}, long, &redislock.Options{
					RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(20*time.Millisecond), 2*i),
					Wait:          time.Duration(i%3) * 300 * time.Millisecond,
				})
				if err == nil {
					time.Sleep(30 * time.Millisecond)
					noError(t, lock.Release(t.Context()))
				}
			})
		}
		all.Wait()
		if waiting != 0 || most < 2 || begun < 10 {
			t.Errorf("%d wait still; %d have waited, %d at the same time", waiting, begun, most)
		}
	})
}
