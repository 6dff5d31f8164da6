package redislock_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// leases has some stand in line, one after the other, who let their leases expire.
func leases(t *testing.T, w *world, key string, ttl time.Duration, who ...string) <-chan turn {
	t.Helper()
	turns := make(chan turn, len(who))
	for i, name := range who {
		go func() {
			lock, err := w.client.Obtain(t.Context(), []string{key}, ttl, queue())
			turns <- turn{name, lock, err}
		}()
		w.inLine(t, key, i+1)
	}
	return turns
}

// shortLease is long enough for whoever stands in line to be seen there.
const shortLease = 2 * time.Second

// wantLeases checks that each follows when the lease before it is over, and no later than so much after
// that: a real server on a busy machine is allowed as long as it takes to ask again.
func wantLeases(t *testing.T, turns <-chan turn, ends time.Time, within time.Duration, who ...string) {
	t.Helper()
	for _, want := range who {
		got, ok := receive(turns, time.Until(ends)+within)
		if !ok {
			t.Fatalf("%s has not got the lock", want)
		}
		noError(t, got.err)
		if late := time.Since(ends); got.who != want || late < 0 {
			t.Fatalf("%s has it %v after the lease before, want %s soon after", got.who, late, want)
		}
		ends = got.lock.Deadline()
	}
}

// inLeases runs a scenario of leases that end: on real servers; and on a miniredis whose time passes
// only when nothing else can happen, so that who has to wait longer than for the lease is seen.
func inLeases(t *testing.T, fn func(t *testing.T, w *world, within time.Duration)) {
	t.Helper()
	t.Parallel()
	t.Run("bubble", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) { fn(t, w, shortLease/10) })
	})
	for _, kind := range []redistest.Kind{redistest.Redis, redistest.Valkey} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			fn(t, newWorld(t, redistest.Shared(t, kind)), polled)
		})
	}
}

func TestQueueLeaseExpires(t *testing.T) {
	t.Run("one after the other", func(t *testing.T) {
		inLeases(t, func(t *testing.T, w *world, within time.Duration) {
			key := w.key("k")
			holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, 2*shortLease, nil))
			turns := leases(t, w, key, shortLease, "a", "b", "c")
			wantLeases(t, turns, holder.Deadline(), within, "a", "b", "c")
			w.noTraceSoon(t, key)
		})
	})
	t.Run("of one to whom it was handed over", func(t *testing.T) {
		inLeases(t, func(t *testing.T, w *world, within time.Duration) {
			key := w.key("k")
			holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
			turns := leases(t, w, key, shortLease, "a", "b", "c")
			noError(t, holder.Release(t.Context()))
			wantLeases(t, turns, time.Now(), within, "a", "b", "c")
			w.noTraceSoon(t, key)
		})
	})
	t.Run("of one who stood behind a dead one", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		key := s.key("k")
		holder := s.hold(t)
		s.kill(t, s.process(t, shortLease, 0))
		turns := make(chan turn, 2)
		for i, who := range []string{"a", "b"} {
			go func() {
				lock, err := s.client.Obtain(t.Context(), []string{key}, shortLease, queue())
				turns <- turn{who, lock, err}
			}()
			s.inLine(t, key, i+2)
		}
		noError(t, holder.Release(t.Context()))
		wantLeases(t, turns, time.Now(), polled, "a", "b")
		s.noTraceSoon(t, key)
	})
	t.Run("of a reader, after that of another has ended sooner than it would", func(t *testing.T) {
		inLeases(t, func(t *testing.T, w *world, within time.Duration) {
			key := w.key("k")
			short := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), []string{key}, 2*shortLease, nil))
			other := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), []string{key}, long, nil))
			turns := leases(t, w, key, shortLease, "a")
			noError(t, other.Release(t.Context()))
			wantLeases(t, turns, short.Deadline(), within, "a")
			w.noTraceSoon(t, key)
		})
	})
	t.Run("1 ms", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			key := w.key("k")
			holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
			turns := leases(t, w, key, time.Millisecond, "a", "b", "c", "d")
			noError(t, holder.Release(t.Context()))
			watch := newPatience(soon)
			for range cap(turns) {
				got, ok := receiveBefore(turns, watch)
				if !ok {
					t.Fatal("somebody has not got the lock")
				}
				if got.err != nil { // it may have been over before it was known
					wantIs(t, got.err, redislock.ErrNotObtained)
				}
			}
			w.noTraceSoon(t, key)
		})
	})
}
