package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func watchedLock(t *testing.T) *Lock {
	t.Helper()
	client := New(redistest.StartMini(t).Client(t))
	t.Cleanup(client.Close)
	lock, err := client.Obtain(t.Context(), []string{t.Name()}, time.Minute, &Options{Watchdog: true})
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// A wall clock that was set back makes no deadline later.
func TestDeadlineAndWallClock(t *testing.T) {
	l := watchedLock(t)
	l.mu.Lock()
	l.lease.Deadline = clock.Now().Add(time.Second)
	l.lease.Deadline.Wall += time.Hour
	l.mu.Unlock()
	before := l.Deadline()
	l.begin(&leasing{ttl: time.Minute})
	if after := l.Deadline(); after.After(before) {
		t.Errorf("a Refresh that was not answered moved the deadline by %v", after.Sub(before))
	}
}

// The message of a grant says when the lease began. What is made of that is never too late a moment, also if the message
// comes from a server with another clock.
func TestSinceGrant(t *testing.T) {
	t.Parallel()
	const ttl, micros = time.Minute, int64(1_000_000_000)
	began := clock.Now()
	asked := began.Add(-10 * time.Second)
	for _, test := range []struct {
		name    string
		change  func(s *standing, w *want)
		elapsed time.Duration // from the answer to the grant, on the server's clock
		number  int64
		want    time.Duration // from the answer, on ours
		sure    bool
	}{
		{"at once", nil, 0, 0, 0, true},
		{"clocks may run at different rates", nil, 10 * time.Second, 0, 9900 * time.Millisecond, true},
		{"a clock that is ahead: not later than now", nil, time.Hour, 0, 10 * time.Second, true},
		{"a clock that is behind: it is older than the answer", nil, -time.Millisecond, 0, 0, false},
		{"nothing is known of the clock", func(s *standing, _ *want) { s.since = clock.Moment{} }, time.Second, 0, 0, false},
		{"less than half of the lease is certain", func(_ *standing, w *want) { w.ttl = 15 * time.Second }, time.Second, 0, 0, false},
		{"a little more than half is", func(_ *standing, w *want) { w.ttl = 20 * time.Second }, time.Second, 0, 990 * time.Millisecond, true},
		{"a number is missing", func(_ *standing, w *want) { w.fenced = true }, time.Second, 0, 0, false},
		{"it has one", func(_ *standing, w *want) { w.fenced = true }, time.Second, 7, 990 * time.Millisecond, true},
	} {
		s, w := &standing{since: asked, micros: micros}, &want{ttl: ttl}
		if test.change != nil {
			test.change(s, w)
		}
		sent, sure := s.sinceGrant(&listen.Grant{Micros: micros + test.elapsed.Microseconds(), Number: test.number}, w)
		if sure != test.sure {
			t.Errorf("%s: got %t, want %t", test.name, sure, test.sure)
			continue
		}
		if !sure {
			continue
		}
		wanted, latest := asked.Add(test.want), clock.Now()
		if test.elapsed > time.Minute {
			if latest.Precedes(sent) || sent.Precedes(began) {
				t.Errorf("%s: got %v, want a clock.Moment from %v to %v", test.name, sent, began, latest)
			}
		} else if sent != wanted {
			t.Errorf("%s: got %v after the answer, want %v", test.name, sent.Since(asked), test.want)
		}
	}
}

// A watchedContext tells when somebody waits for its end.
type watchedContext struct {
	context.Context
	waits chan struct{}
}

func (c watchedContext) Done() <-chan struct{} {
	select {
	case c.waits <- struct{}{}:
	default:
	}
	return c.Context.Done()
}

// A Refresh that waits until another one is over does so no longer than its context lasts, and says that it has asked for nothing.
func TestTurnEndsWithContext(t *testing.T) {
	l := watchedLock(t)
	l.turn = make(chan struct{}, 1)
	l.turn <- struct{}{} // another one has it
	ctx, cancel := context.WithCancel(t.Context())
	watched := watchedContext{ctx, make(chan struct{}, 1)}
	failed := make(chan error)
	go func() { failed <- l.Refresh(watched, time.Minute) }()
	select {
	case <-watched.waits:
	case <-time.After(time.Minute):
		t.Fatal("nobody waits for the end of the context")
	}
	cancel()
	const want = `redislock: refresh "TestTurnEndsWithContext": not asked: context canceled`
	if err := <-failed; err == nil || err.Error() != want || !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %s", err, want)
	}
	<-l.turn
}

// wantIdle checks that nothing is planned for a Client any more.
func wantIdle(t *testing.T, c *Client) {
	t.Helper()
	if rest := c.schedule.Close(); len(rest) > 0 {
		t.Errorf("%d tasks are planned", len(rest))
	}
}

// What comes when a lock was released already changes nothing: a look at its lease that was due, and the news of a loss.
func TestTooLateForALock(t *testing.T) {
	l := watchedLock(t)
	w, lost := l.watch, l.Lost()
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Run(clock.Now().Add(30 * time.Second)) // when a renewal would be due
	if !l.mu.TryLock() {
		t.Fatal("the lock is left locked")
	}
	l.mu.Unlock()
	l.lose(errors.New("late"))
	select {
	case <-lost:
		t.Error("it counts as lost")
	default:
	}
	if err := l.Refresh(t.Context(), time.Minute); !errors.Is(err, errReleased) {
		t.Errorf("got error %v, want one that says that it was released", err)
	}
	wantIdle(t, l.client)
}

// A With whose lock was lost leaves its mutex free.
func TestLostInWith(t *testing.T) {
	rdb := redistest.StartMini(t).Client(t)
	client := New(rdb)
	t.Cleanup(client.Close)
	var lock *Lock
	err := client.With(t.Context(), []string{t.Name()}, time.Minute, nil, func(ctx context.Context) error {
		lock = FromContext(ctx)
		return rdb.Del(ctx, t.Name()).Err()
	})
	if !errors.Is(err, ErrLockLost) {
		t.Errorf("got error %v, want one that says that the lock was lost", err)
	}
	if !lock.mu.TryLock() {
		t.Fatal("the lock is left locked")
	}
	lock.mu.Unlock()
}

// A clean-up ends once, however many of its requests are answered, and when its time is over. Then it asks for nothing more, and
// does not keep its owner.
func TestCleanUpEndsOnce(t *testing.T) {
	for name, end := range map[string]func(o *cleanup){
		"answered twice":   func(o *cleanup) { o.end(); o.end() },
		"its time is over": func(o *cleanup) { o.Run(o.until) },
		"due afterwards":   func(o *cleanup) { o.end(); o.Run(clock.Now()) },
	} {
		t.Run(name, func(t *testing.T) {
			l := watchedLock(t)
			token := l.Token()
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			o := l.client.newCleanup(l.set, &l.asker, time.Minute)
			l.client.schedule.Put(&o.entry, clock.Now().Add(time.Hour), 0)
			inUse := owners.Of(token)
			end(o)
			if !o.mu.TryLock() {
				t.Fatal("it is left locked")
			}
			o.mu.Unlock()
			again := owners.Of(token)
			if again.Done(token); again != inUse {
				t.Error("the owner is forgotten while it is in use")
			}
			inUse.Done(token)
			another := owners.Of(token)
			if another.Done(token); another == inUse {
				t.Error("the owner is kept")
			}
			wantIdle(t, l.client)
		})
	}
}

// The error of keys that are not ours names the first eight of them, and says what is known of a Break. It has no nil in it, which
// code that walks the errors may not expect.
func TestMissingError(t *testing.T) {
	t.Parallel()
	nine := strings.Split("abcdefghi", "")
	for want, err := range map[string]*missingError{
		`lock not held: lost "a"`:                                               {keys: nine[:1]},
		`lock not held: lost "a", "b", "c", "d", "e", "f", "g", "h"`:            {keys: nine[:8]},
		`lock not held: lost "a", "b", "c", "d", "e", "f", "g", "h" and 1 more`: {keys: nine},
		`lock not held: "a" was broken`:                                         {keys: nine[:1], broken: ErrBroken},
		`lock not held: "a" was broken: why`:                                    {keys: nine[:1], broken: ErrBroken, reason: "why"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got error %s, want %s", got, want)
		}
		if all := err.Unwrap(); all[0] != ErrLockNotHeld || all[len(all)-1] == nil { //nolint:errorlint // exactly these
			t.Errorf("%s: it is made of %v", want, all)
		}
	}
}

// A set has each key once, however many there are, and what is taken out of it keeps its modes and its places for numbers.
func TestKeySet(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 40} {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprint(i))
		}
		set, err := (&settings{maxKeys: n}).newKeySet(Set{Write: append(keys[1:], keys[1]), Read: keys}, nil)
		want := append(keys[1:len(keys):len(keys)], keys[0])
		if err != nil || !slices.Equal(set.Keys, want) || set.Reads() != 1 {
			t.Fatalf("got the keys %q, %d of them to read, and error %v, want %q", set.Keys, set.Reads(), err, want)
		}
		set.Fences = besides(nil, "fence", set.Keys)
		part, rest, err := set.split([]string{"2", "0"})
		for _, s := range []keySet{part, rest} {
			if !slices.Equal(s.Lines, besides(nil, "line", s.Keys)) || !slices.Equal(s.Fences, besides(nil, "fence", s.Keys)) {
				t.Errorf("the keys %q have the lines %q and the numbers at %q", s.Keys, s.Lines, s.Fences)
			}
		}
		if err != nil || len(part.Keys) != 2 || part.Reads() != 1 || len(rest.Keys) != n-2 || rest.Reads() != 0 {
			t.Errorf("got the part %q, the rest %q and error %v", part.Keys, rest.Keys, err)
		}
		if _, _, err := set.split([]string{"0", "none"}); err == nil || err.Error() != `invalid keys: "none" is not in the set` {
			t.Errorf("got error %v for a key that is not in the set", err)
		}
	}
}

func TestInstanceMetadata(t *testing.T) {
	got := InstanceMetadata()
	for _, want := range []string{"host=", " pid=", " prog=", " since="} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want it to contain %q", got, want)
		}
	}
	if !printable(got) || strings.Contains(got, "|") || got != InstanceMetadata() {
		t.Errorf("got %q, want one line that stays the same", got)
	}
	if got, want := word(`my "prog"`), `"my \"prog\""`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
