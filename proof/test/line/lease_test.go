package line_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// leases has some waiters stand in line, each by itself, one after the other. They let their leases expire.
func leases(t *testing.T, w *world.World, key string, ttl time.Duration, who ...string) <-chan world.Turn {
	t.Helper()
	turns := make(chan world.Turn, len(who))
	for i, name := range who {
		go func() {
			lock, err := w.Client.Obtain(world.Apart(t.Context()), []string{key}, ttl, world.Queue())
			turns <- world.Turn{Who: name, Lock: lock, Err: err}
		}()
		w.InLine(t, key, i+1)
	}
	return turns
}

// shortLease is long enough for whoever stands in line to be seen there.
const shortLease = 2 * time.Second

// wantLeases checks that each follows when the lease before it is over, and no later than so much after
// that: a real server on a busy machine is allowed as long as it takes to ask again.
func wantLeases(t *testing.T, turns <-chan world.Turn, ends time.Time, within time.Duration, who ...string) {
	t.Helper()
	for _, want := range who {
		got, ok := check.Receive(turns, time.Until(ends)+within)
		if !ok {
			t.Fatalf("%s has not got the lock", want)
		}
		check.NoError(t, got.Err)
		if late := time.Since(ends); got.Who != want || late < 0 {
			t.Fatalf("%s has it %v after the lease before, want %s soon after", got.Who, late, want)
		}
		ends = got.Lock.Deadline()
	}
}

// inLeases runs a scenario of leases that end: on real servers; and on a miniredis whose time passes
// only when nothing else can happen, so that a waiter that has to wait longer than for the lease is noticed.
func inLeases(t *testing.T, fn func(t *testing.T, w *world.World, within time.Duration)) {
	t.Helper()
	t.Parallel()
	t.Run("bubble", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) { fn(t, w, shortLease/10) })
	})
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		fn(t, world.New(t, redistest.Shared(t, kind)), world.Polled)
	})
}

func TestQueueLeaseExpires(t *testing.T) {
	t.Parallel()
	t.Run("one after the other", func(t *testing.T) {
		inLeases(t, func(t *testing.T, w *world.World, within time.Duration) {
			key := w.Key("k")
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, 2*shortLease, nil))
			turns := leases(t, w, key, shortLease, "a", "b", "c")
			wantLeases(t, turns, holder.Deadline(), within, "a", "b", "c")
			noTraceSoon(t, w, key)
		})
	})
	t.Run("of one to whom it was handed over", func(t *testing.T) {
		inLeases(t, func(t *testing.T, w *world.World, within time.Duration) {
			key := w.Key("k")
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
			turns := leases(t, w, key, shortLease, "a", "b", "c")
			check.NoError(t, holder.Release(t.Context()))
			wantLeases(t, turns, time.Now(), within, "a", "b", "c")
			noTraceSoon(t, w, key)
		})
	})
	t.Run("of one who stood behind a dead one", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		key := s.Key("k")
		holder := s.hold(t)
		s.kill(t, s.process(t, shortLease, 0))
		turns := make(chan world.Turn, 2)
		for i, who := range []string{"a", "b"} {
			go func() {
				lock, err := s.Client.Obtain(world.Apart(t.Context()), []string{key}, shortLease, world.Queue())
				turns <- world.Turn{Who: who, Lock: lock, Err: err}
			}()
			s.InLine(t, key, i+2)
		}
		check.NoError(t, holder.Release(t.Context()))
		wantLeases(t, turns, time.Now(), world.Polled, "a", "b")
		noTraceSoon(t, s.World, key)
	})
	t.Run("of a reader, after that of another has ended sooner than it would", func(t *testing.T) {
		inLeases(t, func(t *testing.T, w *world.World, within time.Duration) {
			key := w.Key("k")
			short := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), []string{key}, 2*shortLease, nil))
			other := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), []string{key}, world.Long, nil))
			turns := leases(t, w, key, shortLease, "a")
			check.NoError(t, other.Release(t.Context()))
			wantLeases(t, turns, short.Deadline(), within, "a")
			noTraceSoon(t, w, key)
		})
	})
	t.Run("1 ms", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			key := w.Key("k")
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
			turns := leases(t, w, key, time.Millisecond, "a", "b", "c", "d")
			check.NoError(t, holder.Release(t.Context()))
			watch := check.NewPatience(world.Soon)
			for range cap(turns) {
				got, ok := check.ReceiveBefore(turns, watch)
				if !ok {
					t.Fatal("somebody has not got the lock")
				}
				if got.Err != nil { // it may have been over before it was known
					check.Is(t, got.Err, redislock.ErrNotObtained)
				}
			}
			noTraceSoon(t, w, key)
		})
	})
}
