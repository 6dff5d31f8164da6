package contract

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
)

// hooks checks what hooks are told of a lock, beside what every case checks of every story: see story.wantOrder.
func hooks(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "a life", func(t *testing.T, r *rig) { life(t, m, r) })
	m.in(t, "another lock", func(t *testing.T, r *rig) {
		first := r.obtain(t, long, nil)
		check.NoError(t, first.Release(t.Context()))
		second := check.Must[held.Lock](t)(r.Locks.ObtainSet(t.Context(), redislock.Set{Read: r.keys}, long, watched))
		check.NoError(t, second.Release(t.Context()))
		events := r.story.want(t, "obtained released obtained released")
		if e := events[2]; e.ID == events[0].ID || e.Mode != redislock.ModeRead || !e.Expires.IsZero() {
			t.Errorf("got event %+v of a reader with a watchdog, after %+v", e, events[0])
		}
	})
	m.in(t, "what is refused at once is no event", func(t *testing.T, r *rig) {
		for what, opt := range map[string]redislock.Options{
			"metadata": {Metadata: strings.Repeat("x", 5000)}, "name": {Name: strings.Repeat("x", 129)},
		} {
			if _, err := r.try(t.Context(), long, &opt); err == nil {
				t.Errorf("%s: got no error", what)
			}
		}
		r.story.want(t, "")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errOwn)
		_, err := r.try(ctx, long, nil)
		check.Is(t, err, redislock.ErrNotObtained, errOwn)
		r.story.want(t, r.unless(m.Quiet, "refused")) // it was about to ask
		r.wantFree(t)
	})
	m.in(t, "nobody gets a lock if a hook panics that is told of it", func(t *testing.T, r *rig) {
		panics := redislock.Hooks{Obtained: func(context.Context, redislock.Event) { panic("own") }}
		own := m.rig(t, panics)
		opts := []redislock.Options{{}, {Watchdog: true, HoldAtLeast: long}}
		for _, opt := range r.ways() {
			opts = append(opts, opt)
		}
		for _, opt := range opts {
			opt.Wait = long // it does not wait for what the case before it has left
			wantPanic(t, func() { _, _ = own.try(t.Context(), long, &opt) })
			own.wantFree(t)
		}
	})
	told(t, m)
}

// unless returns no events if a maker says that there are none.
func (r *rig) unless(because Because, names string) string {
	if because.holds() {
		return ""
	}
	return names
}

// life checks what is told of a lock from its Obtain to the operations after its Release.
func life(t *testing.T, m Maker, r *rig) {
	t.Helper()
	ctx := context.WithValue(t.Context(), word{}, "said")
	lock := check.Must[held.Lock](t)(r.try(ctx, long, &redislock.Options{Name: "nightly"}))
	expires := []time.Time{lock.Deadline()}
	time.Sleep(3 * time.Second)
	check.NoError(t, lock.Refresh(ctx, 2*long))
	expires = append(expires, lock.Deadline())
	time.Sleep(3 * time.Second)
	check.NoError(t, lock.Release(ctx))
	check.Is(t, lock.Refresh(ctx, long), redislock.ErrLockNotHeld)
	check.Is(t, lock.Release(ctx), redislock.ErrLockNotHeld)
	names := "obtained refreshed released " + r.unless(m.Quiet, "refreshed released")
	for i, e := range r.story.want(t, names) {
		if !slices.Equal(e.Keys, r.keys) || e.Mode != redislock.ModeWrite || e.Name != "nightly" || e.Way != "once" || e.ID == 0 {
			t.Errorf("%s: got event %+v", e.name, e.Event)
		}
		if want := time.Duration(min(i, 2)) * 3 * time.Second; !about(e.Held, want) {
			t.Errorf("%s: got held %v, want %v", e.name, e.Held, want)
		}
		if i < 2 && !e.Expires.Equal(expires[i]) || i >= 2 && !e.Expires.IsZero() {
			t.Errorf("%s: it expires at %v, deadlines %v", e.name, e.Expires, expires)
		}
		if e.said != "said" || e.Kept != 0 || e.Fence != 0 || e.Duration != 0 || i < 3 && e.Attempts != 1 {
			t.Errorf("%s: got event %+v in a context that says %v", e.name, e.Event, e.said)
		}
		if i < 3 {
			check.NoError(t, e.Err)
		} else {
			check.Is(t, e.Err, redislock.ErrLockNotHeld)
		}
	}
}

// told checks which hook is told of a loss, and when.
func told(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "a loss, once", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, watched)
		time.Sleep(10 * time.Second)
		r.story.forget()
		r.Lose(t, "b")
		time.Sleep(long)
		lost := r.story.take()
		lost = slices.DeleteFunc(lost, func(h happening) bool { return h.name == "refreshed" }) // by the watchdog
		if len(lost) != 1 || lost[0].name != "lost" || lost[0].Held < 10*time.Second || lost[0].Held > long {
			t.Fatalf("got events %+v", lost)
		}
		check.Is(t, lost[0].Err, redislock.ErrLockLost)
		r.Lose(t, "c")
		time.Sleep(long)
		<-lock.Lost()
		<-lock.Context(t.Context()).Done()
		r.story.forget()
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		check.Is(t, r.story.want(t, "released")[0].Err, redislock.ErrLockNotHeld)
	})
	for name, ask := range map[string]func(t *testing.T, lock held.Lock){
		"Context": func(t *testing.T, lock held.Lock) { t.Helper(); lock.Context(t.Context()) },
		"Lost":    func(t *testing.T, lock held.Lock) { t.Helper(); lock.Lost() },
	} {
		m.in(t, "a loss, if "+name+" has asked for it", func(t *testing.T, r *rig) {
			lock := r.obtain(t, short, nil)
			ask(t, lock)
			time.Sleep(long)
			r.story.want(t, "obtained lost")
			check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		})
	}
	m.in(t, "no loss, if nobody has asked for it", func(t *testing.T, r *rig) {
		lock := r.obtain(t, short, nil)
		time.Sleep(long)
		r.story.want(t, "obtained "+r.only(m.AlwaysWatched, "lost"))
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	})
	m.in(t, "a loss that a Refresh finds", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, nil)
		r.Lose(t, "c")
		check.Is(t, lock.Refresh(t.Context(), 2*long), redislock.ErrLockNotHeld)
		events := r.story.want(t, "obtained lost refreshed")
		check.Is(t, events[1].Err, redislock.ErrLockLost)
		check.Is(t, events[2].Err, redislock.ErrLockNotHeld)
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	})
	m.in(t, "no loss that only the Release finds", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, watched)
		lost := lock.Lost()
		r.Lose(t, "a")
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		r.story.want(t, "obtained "+r.only(m.ToldAtOnce, "lost ")+"released")
		if isClosed(lost) != m.ToldAtOnce.holds() {
			t.Errorf("Lost is closed: %t", isClosed(lost))
		}
	})
	m.in(t, "a loss meanwhile after the lock", func(t *testing.T, _ *rig) {
		var own *rig
		own = m.rig(t, redislock.Hooks{Obtained: func(context.Context, redislock.Event) {
			for _, key := range own.keys {
				own.Lose(t, key)
			}
			time.Sleep(long)
			own.story.wantAll(t, "refreshed")
		}})
		lock, err := own.try(t.Context(), short, watched)
		if m.RefusedIfLost.holds() {
			check.Is(t, err, redislock.ErrLockLost)
		} else {
			check.NoError(t, err)
			<-lock.Lost()
			check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		}
		events := slices.DeleteFunc(own.story.take(), func(h happening) bool { return h.name == "refreshed" || h.name == "released" })
		if len(events) != 2 || events[0].name != "obtained" || events[1].name != "lost" || events[1].ID != events[0].ID {
			t.Errorf("got events %+v", events)
		}
	})
}

// only returns no events unless a maker says that there are some.
func (r *rig) only(because Because, names string) string {
	if because.holds() {
		return names
	}
	return ""
}

// wantPanic runs what is to panic.
func wantPanic(t *testing.T, fn func()) {
	t.Helper()
	defer func() {
		if got := recover(); got != "own" {
			t.Errorf("recovered %v, want what was thrown", got)
		}
	}()
	fn()
}
