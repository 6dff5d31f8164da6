package multi_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/multi"
)

// diary is what hooks were told.
type diary struct {
	mu     sync.Mutex
	whats  []string
	events []redislock.Event
}

// client makes a Client whose hooks write everything down.
func (d *diary) client() multi.Client {
	note := func(what string) func(context.Context, redislock.Event) {
		return func(_ context.Context, e redislock.Event) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.whats, d.events = append(d.whats, what), append(d.events, e)
		}
	}
	return multi.Client{Hooks: redislock.Hooks{
		Obtained: note("obtained"), Refused: note("refused"), Waiting: note("waiting"), Waited: note("waited"),
		Refreshed: note("refreshed"), Lost: note("lost"), Released: note("released"),
	}}
}

// took returns what was told since it was last called, of which these are the names.
func (d *diary) took(t *testing.T, want ...string) []redislock.Event {
	t.Helper()
	synctest.Wait() // a loss is told on a goroutine of its own
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.whats); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	events := d.events
	d.whats, d.events = nil, nil
	return events
}

func TestEventsOfOneLock(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var d diary
		parts := w.abc()
		parts[0].Read = []string{w.key("r"), w.key("c")}
		lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), parts, long, &redislock.Options{Name: "nightly"}))
		expires := []time.Time{lock.Deadline()}
		time.Sleep(3 * time.Second)
		noError(t, lock.Refresh(bounded(t), long))
		expires = append(expires, lock.Deadline(), time.Time{})
		noError(t, lock.Release(bounded(t)))
		events := d.took(t, "obtained", "refreshed", "released")
		keys := []string{w.key("a"), w.key("b"), w.key("c"), w.key("r")}
		for i, e := range events {
			if diff := cmp.Diff(keys, e.Keys); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if e.Mode != redislock.ModeWrite || e.Name != "nightly" || e.Way != redislock.WayOnce || e.Attempts != 1 || e.Err != nil {
				t.Errorf("got event %+v", e)
			}
			if want := min(time.Duration(i), 1) * 3 * time.Second; e.Held != want {
				t.Errorf("got held %v of event %d, want %v", e.Held, i, want)
			}
			if e.ID == 0 || e.ID != events[0].ID || !e.Expires.Equal(expires[i]) || e.Ended != (i == 2) || e.Fence != 0 {
				t.Errorf("got event %+v, want the ID of the first, Expires %v", e, expires[i])
			}
		}
		readers := []multi.Part{w.part(0), w.part(1)}
		readers[0].Read, readers[1].Read = []string{"x"}, []string{"y"}
		lock = must[*multi.Lock](t)(d.client().Obtain(bounded(t), readers, long, &redislock.Options{Watchdog: true}))
		noError(t, lock.Release(bounded(t)))
		another := d.took(t, "obtained", "released")[0]
		if another.Mode != redislock.ModeRead {
			t.Errorf("got mode %q of a lock that reads", another.Mode)
		}
		if another.ID == events[0].ID || !another.Expires.IsZero() {
			t.Errorf("got event %+v of another lock, which has a watchdog", another)
		}
	})
}

// A Release of what was released before keeps nothing, whatever the first one has kept.
func TestKeptOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var d diary
		lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), w.abc(), long, &redislock.Options{HoldAtLeast: long}))
		noError(t, lock.Release(bounded(t)))
		wantIs(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
		events := d.took(t, "obtained", "released", "released")
		if first, second := events[1].Kept, events[2].Kept; first != long || second != 0 {
			t.Errorf("the keys were kept for %v, and then for %v", first, second)
		}
	})
}

// What is refused before anybody is asked is told to nobody.
func TestArgumentsAreNoEvents(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var d diary
		lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), w.abc(), long, nil))
		for _, ttl := range []time.Duration{0, -1, 366 * 24 * time.Hour} {
			wantIs(t, lock.Refresh(bounded(t), ttl), redislock.ErrInvalidTTL)
		}
		noError(t, lock.Release(bounded(t)))
		d.took(t, "obtained", "released")
		for what, opt := range map[string]*redislock.Options{
			"metadata": {Metadata: strings.Repeat("x", 5000)}, "token": {Token: "a|b"}, "replicas": {Replicas: -1},
			"intent": {Intent: true}, "wait": {Wait: -1}, "at least": {HoldAtLeast: -1},
		} {
			if _, err := d.client().Obtain(bounded(t), w.abc(), long, opt); err == nil {
				t.Errorf("%s: got no error", what)
			}
		}
		_, err := d.client().Obtain(bounded(t), w.abc(), -1, nil)
		wantIs(t, err, redislock.ErrInvalidTTL)
		d.took(t)
		ctx, cancel := context.WithCancel(bounded(t))
		cancel()
		_, err = d.client().Obtain(ctx, w.abc(), long, nil)
		wantIs(t, err, context.Canceled)
		d.took(t, "refused") // it was about to ask
	})
}

func TestWaitingIsTold(t *testing.T) {
	poll := &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)}
	queue := &redislock.Options{Queue: true, Watchdog: true}

	t.Run("not of one that makes one attempt", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			var d diary
			w.block(t, long, "b")
			_, err := d.client().Obtain(bounded(t), w.abc(), long, nil)
			wantConflict(t, err, w.key("b"), "part 2 of 3")
			e := d.took(t, "refused")[0]
			wantIs(t, err, errors.Unwrap(e.Err))
			if e.Way != redislock.WayOnce || e.Attempts != 1 || e.Duration != 0 {
				t.Errorf("got event %+v", e)
			}
		})
	})

	for name, opt := range map[string]*redislock.Options{"polling": poll, "in line": queue} {
		way := map[string]redislock.Way{"polling": redislock.WayPoll, "in line": redislock.WayQueue}[name]
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				var d diary
				other := w.block(t, long, "b")
				time.AfterFunc(5*time.Second+time.Millisecond, func() { noError(t, other.Release(context.Background())) })
				lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), w.abc(), long, opt))
				events := d.took(t, "waiting", "waited", "obtained")
				for i, e := range events {
					if e.Way != way || len(e.Keys) != 3 || i > 0 && e.Err != nil {
						t.Errorf("got event %+v", e)
					}
				}
				if way == redislock.WayPoll {
					wantIs(t, events[0].Err, redislock.ErrNotObtained)
					if got := events[2].Attempts; got != 7 || events[0].Attempts != 1 {
						t.Errorf("got %d attempts, want 7", got)
					}
				}
				if took := events[1].Duration; took < 5*time.Second || took > 7*time.Second {
					t.Errorf("it waited for %v, want about 5 s", took)
				}
				noError(t, lock.Release(bounded(t)))
				d.took(t, "released")
			})
		})

		t.Run(name+" in vain", func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				var d diary
				other := w.block(t, long, "b")
				ctx, cancel := context.WithTimeout(bounded(t), 5*time.Second)
				defer cancel()
				_, err := d.client().Obtain(ctx, w.abc(), long, opt)
				wantIs(t, err, context.DeadlineExceeded)
				for _, e := range d.took(t, "waiting", "waited", "refused")[1:] {
					wantIs(t, e.Err, context.DeadlineExceeded)
				}
				noError(t, other.Release(bounded(t)))
			})
		})
	}

	t.Run("for each there is an end, also if a strategy panics", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			var d diary
			w.block(t, long, "b")
			asked := 0
			panics := &redislock.Options{RetryStrategy: func() redislock.BackOff {
				return wait(func() time.Duration {
					if asked++; asked == 3 {
						panic("own")
					}
					return time.Second
				})
			}}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic is gone")
					}
				}()
				_, _ = d.client().Obtain(bounded(t), w.abc(), long, panics)
			}()
			for _, e := range d.took(t, "waiting", "waited", "refused")[1:] {
				if e.Err == nil {
					t.Errorf("got no error of an Obtain that has panicked")
				}
			}
			w.wantFree(t, "a", "c")
		})
	})

	t.Run("a hook that panics while a part is waited for leaves nothing locked", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.block(t, long, "b")
			client := multi.Client{Hooks: redislock.Hooks{Waiting: func(context.Context, redislock.Event) { panic("own") }}}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic is gone")
					}
				}()
				_, _ = client.Obtain(bounded(t), w.abc(), long, queue)
			}()
			w.wantFree(t, "a", "c")
		})
	})
}

func TestLossIsTold(t *testing.T) {
	watched := &redislock.Options{Watchdog: true}

	t.Run("once, whatever else is lost", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			var d diary
			lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), w.abc(), long, watched))
			d.took(t, "obtained")
			time.Sleep(10 * time.Second)
			w.steal(t, "b")
			time.Sleep(long)
			e := d.took(t, "lost")[0]
			wantIs(t, e.Err, redislock.ErrLockLost)
			if !strings.Contains(e.Err.Error(), "part 2 of 3") || e.Held < 10*time.Second || e.Held > long {
				t.Errorf("got event %+v", e)
			}
			w.steal(t, "c")
			time.Sleep(long)
			receive(t, lock.Lost())
			<-lock.Context(bounded(t)).Done()
			wantIs(t, lock.Refresh(bounded(t), long), redislock.ErrLockNotHeld)
			wantIs(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
			events := d.took(t, "refreshed", "released")
			for _, e := range events {
				wantIs(t, e.Err, redislock.ErrLockNotHeld)
			}
		})
	})

	t.Run("to whoever has asked for it", func(t *testing.T) {
		for name, ask := range map[string]func(*multi.Lock){
			"Context": func(l *multi.Lock) { l.Context(context.Background()) }, "Lost": func(l *multi.Lock) { l.Lost() },
		} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, w *world) {
					var d diary
					lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), w.abc(), time.Second, nil))
					ask(lock)
					time.Sleep(time.Minute)
					d.took(t, "obtained", "lost")
					_ = lock.Release(bounded(t))
				})
			})
		}
	})

	t.Run("if a Refresh has found it", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			var d diary
			lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), w.abc(), long, nil))
			w.steal(t, "c")
			wantIs(t, lock.Refresh(bounded(t), long), redislock.ErrLockNotHeld)
			wantIs(t, d.took(t, "obtained", "lost", "refreshed")[1].Err, redislock.ErrLockLost)
			_ = lock.Release(bounded(t))
		})
	})

	t.Run("not if the lock was released", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			var d diary
			lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), w.abc(), long, nil))
			noError(t, lock.Release(bounded(t)))
			wantIs(t, lock.Refresh(bounded(t), long), redislock.ErrLockNotHeld)
			d.took(t, "obtained", "released", "refreshed")
		})
	})

	t.Run("not if only the Release has found it", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			var d diary
			lock := must[*multi.Lock](t)(d.client().Obtain(bounded(t), w.abc(), long, watched))
			lost := lock.Lost()
			w.steal(t, "a")
			wantIs(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
			d.took(t, "obtained", "released")
			select {
			case <-lost:
				t.Error("it was told as a loss")
			default:
			}
		})
	})
}
