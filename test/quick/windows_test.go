package quick_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A window is the time in which a caller may take a key for its own.
type window struct {
	key      string
	writes   bool
	from, to time.Time
}

// An album has the windows of all callers.
type album struct {
	mu      sync.Mutex
	windows []window
	overrun int // locks of which the lease ended while they were held
}

// enter notes what a caller has held, until it called Release or until the deadline of its lock.
func (a *album) enter(lock *redislock.Lock, writes bool, from, released time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	to := lock.Deadline()
	if released.Before(to) {
		to = released
	} else {
		a.overrun++
	}
	for _, key := range lock.Keys() {
		a.windows = append(a.windows, window{key, writes, from, to})
	}
}

// isEnough reports whether there is something to compare.
func (a *album) isEnough() bool { return a.overrun >= 5 && len(a.windows) >= 40 }

// isFull reports whether it has taken long enough. On a busy machine it takes longer until there is something to compare.
func (a *album) isFull(took time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return took > check.HammerTime/2 && a.isEnough() || took > 2*time.Minute
}

// overlap returns two windows of one key that overlap, one of a writer at least. It looks at each window in the order of their
// beginnings, beside the one of a writer and the one of anybody that end last.
func (a *album) overlap() (first, second window, found bool) {
	slices.SortFunc(a.windows, func(a, b window) int { return cmp.Or(cmp.Compare(a.key, b.key), a.from.Compare(b.from)) })
	var writer, anybody window
	for _, w := range a.windows {
		if w.key != anybody.key {
			writer, anybody = window{}, window{}
		}
		switch {
		case w.from.Before(writer.to):
			return writer, w, true
		case w.writes && w.from.Before(anybody.to):
			return anybody, w, true
		}
		if w.writes && w.to.After(writer.to) {
			writer = w
		}
		if w.to.After(anybody.to) {
			anybody = w
		}
	}
	return first, second, false
}

// Leases are short, and many holders work for longer than theirs. The windows in which they may take the keys for their own
// never overlap.
func TestWindows(t *testing.T) {
	t.Parallel()
	const ttl = 300 * time.Millisecond
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	var a album
	began := time.Now()
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			for !a.isFull(time.Since(began)) {
				if err := a.hold(t.Context(), w, ttl); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if !a.isEnough() {
		t.Errorf("got %d windows, %d of them longer than a lease: nothing was tested", len(a.windows), a.overrun)
	}
	if first, second, found := a.overlap(); found {
		t.Errorf("%q: one had it until %v, and another from %v on, %v earlier",
			first.key, first.to, second.from, first.to.Sub(second.from))
	}
	t.Logf("%d windows, %d of them longer than a lease", len(a.windows), a.overrun)
}

// hold has a lock once.
func (a *album) hold(ctx context.Context, w *world.World, ttl time.Duration) error {
	names := []string{"a", "b", "c", "d"}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	keys, writes := w.Keys(names[:1+rand.IntN(2)]...), rand.IntN(3) > 0
	opt := &redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond), Queue: rand.IntN(2) == 0}
	obtain := w.Client.ObtainRead
	if writes {
		obtain = w.Client.Obtain
	}
	lock, err := obtain(ctx, keys, ttl, opt)
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrUnknownOutcome) {
		return nil // the answer came too late
	}
	if err != nil {
		return err
	}
	from := time.Now()
	time.Sleep(rand.N(2 * ttl))
	released := time.Now()
	a.enter(lock, writes, from, released)
	_ = lock.Release(ctx) // which may find that the lease is over
	return nil
}

// The album shows windows that overlap, and no others.
func TestOverlap(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	for name, test := range map[string]struct {
		windows []window
		overlap bool
	}{
		"one after the other":  {[]window{{"a", true, at(0), at(2)}, {"a", true, at(2), at(4)}}, false},
		"two writers":          {[]window{{"a", true, at(2), at(4)}, {"a", true, at(0), at(3)}}, true},
		"of two keys":          {[]window{{"a", true, at(0), at(3)}, {"b", true, at(2), at(4)}}, false},
		"two readers":          {[]window{{"a", false, at(0), at(3)}, {"a", false, at(2), at(4)}}, false},
		"a reader in a writer": {[]window{{"a", true, at(0), at(9)}, {"a", false, at(2), at(4)}}, true},
		"a writer behind a long reader": {
			[]window{{"a", false, at(0), at(9)}, {"a", false, at(1), at(2)}, {"a", true, at(5), at(6)}}, true,
		},
		"a reader in a long writer": {[]window{{"a", true, at(0), at(9)}, {"b", true, at(1), at(2)}, {"a", false, at(5), at(6)}}, true},
	} {
		a := album{windows: test.windows}
		if first, second, found := a.overlap(); found != test.overlap {
			t.Errorf("%s: got %t, %v and %v", name, found, first, second)
		}
	}
}
