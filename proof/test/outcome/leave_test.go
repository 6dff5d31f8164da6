package outcome_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// wantLeft checks that the key of a relay is left within a while, for the minute that began at this moment, and was never free.
func wantLeft(t *testing.T, l *world.Lossy, began time.Time) {
	t.Helper()
	check.Eventually(t, 5*time.Second, "the key is left", func() bool {
		if !l.Locked(t) {
			t.Fatal("the key is free")
		}
		return l.Direct.Get(t.Context(), l.Key).Val() == "|"
	})
	ttl := l.Direct.PTTL(t.Context(), l.Key).Val()
	if most := time.Until(began.Add(time.Minute)) + time.Second; ttl > most || ttl < most-10*time.Second {
		t.Errorf("the key is left for %v, want %v at most", ttl, most)
	}
}

// A Leave that was not answered is repeated until it is, and so is a Release after it: neither frees the key, nor keeps it
// for longer.
func TestLeaveUnanswered(t *testing.T) {
	t.Parallel()
	faults := map[string]func(r *redistest.Relay){
		"reply dropped": func(r *redistest.Relay) { r.DropReplies(true) },
		"reply cut":     func(r *redistest.Relay) { r.CutReplies() },
		"request lost":  func(r *redistest.Relay) { r.Cut() },
	}
	for name, spoil := range faults {
		t.Run(name+"/again", func(t *testing.T) {
			t.Parallel()
			l := world.NewLossy(t, world.Persistent)
			lock := l.Obtain(t, l.Key)
			l.On("release", func(n int) {
				if n == 1 {
					spoil(l.Relay)
				}
			})
			began := time.Now()
			check.NoError(t, lock.Leave(t.Context(), time.Minute))
			wantLeft(t, l, began)
		})
		t.Run(name+"/once", func(t *testing.T) {
			t.Parallel()
			l := world.NewLossy(t, world.Impatient)
			lock := l.Obtain(t, l.Key)
			l.On("release", func(n int) {
				if n == 1 {
					spoil(l.Relay)
				}
			})
			began := time.Now()
			world.WantUnknownOutcome(t, lock.Leave(t.Context(), time.Minute))
			wantLeft(t, l, began)
			check.NoError(t, lock.Release(t.Context()))
			wantLeft(t, l, began)
		})
		t.Run(name+"/cancelled", func(t *testing.T) {
			t.Parallel()
			l := world.NewLossy(t, world.Impatient)
			ctx, cancel := context.WithCancel(t.Context())
			lock := check.Must[*redislock.Lock](t)(l.Client.Obtain(ctx, []string{l.Key}, world.Long,
				&redislock.Options{HoldAtLeast: time.Minute, Watchdog: true}))
			l.On("release", func(n int) {
				if n == 1 {
					spoil(l.Relay)
					cancel()
				}
			})
			began := time.Now()
			world.WantUnknownOutcome(t, lock.Release(ctx))
			wantLeft(t, l, began)
		})
	}
}

// An Obtain that fails frees what it may have taken at once, whatever HoldAtLeast says.
func TestHoldAtLeastOfNothing(t *testing.T) {
	t.Parallel()
	l := world.NewLossy(t, world.Impatient)
	l.On("obtain", func(n int) { l.Relay.DropReplies(n == 1) })
	_, err := l.Client.Obtain(t.Context(), []string{l.Key}, world.Long, &redislock.Options{HoldAtLeast: time.Hour})
	world.WantUnknownOutcome(t, err)
	l.Freed(t)
}

// A part of a larger lock that nobody was given is freed at once, whatever HoldAtLeast says.
func TestGivenBackAtOnce(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), world.Long, &redislock.Options{HoldAtLeast: time.Minute}))
		ctx := pace.GivingBack(t.Context())
		check.NoError(t, lock.ReleaseKeys(ctx, w.Keys("a")))
		w.WantFree(t, w.Key("a"))
		check.NoError(t, lock.Release(ctx))
		w.WantFree(t, w.Key("b"))
	})
}

// A server without memory leaves keys as one with memory does, and each has a TTL.
func TestLeaveWithoutMemory(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		rdb := redistest.Start(t, kind).Client(t)
		client, ctx := world.NewClient(t, rdb), t.Context()
		obtain := func(write, read []string) *redislock.Lock {
			return check.Must[*redislock.Lock](t)(client.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, world.Long, nil))
		}
		mixed, other, alone := obtain([]string{"a", "b"}, []string{"c"}), obtain(nil, []string{"c"}), obtain(nil, []string{"d"})
		check.NoError(t, rdb.ConfigSet(ctx, "maxmemory", "1").Err())
		check.NoError(t, mixed.Leave(ctx, time.Minute))
		check.NoError(t, alone.Leave(ctx, time.Minute))
		check.NoError(t, other.Release(ctx))
		for _, key := range []string{"a", "b", "c", "d"} {
			if ttl := rdb.PTTL(ctx, key).Val(); ttl <= 0 || ttl > time.Minute {
				t.Errorf("%q lives for %v", key, ttl)
			}
		}
	})
}

// A Leave that is sent again leaves the keys for the rest of the time, and for none if it is over: then it frees them.
func TestLeaveEndsInTime(t *testing.T) {
	t.Parallel()
	l := world.NewLossy(t, world.Persistent)
	lock := l.Obtain(t, l.Key)
	l.On("release", func(n int) {
		if n == 1 { // and so the reply is waited for, for longer than the time
			l.Relay.DelayRequests(world.ReplyTimeout + 10*time.Second) // a busy machine sends again long before
		}
	})
	check.NoError(t, lock.Leave(t.Context(), world.ReplyTimeout/2))
	if l.Locked(t) {
		t.Errorf("the key is left for %v more", l.Direct.PTTL(t.Context(), l.Key).Val())
	}
}
