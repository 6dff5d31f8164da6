package local_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Who gives up behind others of its Client says who is in the way and for how long, and asks nobody for that: the lock of the
// Client, or what the first in line was answered meanwhile.
func TestGivesUpWithAConflict(t *testing.T) {
	for name, here := range map[string]bool{"a lock of the Client": true, "a lock of another Client": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				holder := s.other
				if here {
					holder = s.Client
				}
				lock := s.obtain(holder, options("holder"))
				first, leave := context.WithCancel(t.Context())
				ctx, cancel := context.WithCancel(t.Context())
				if !here {
					s.waits(first, s.Client, options("first"))
				}
				s.waits(ctx, s.Client, options("second"))
				if !here {
					time.Sleep(6 * time.Second) // meanwhile the first has asked again
				}
				before := s.sent.Load()
				cancel()
				err := s.ends("second")
				conflict, is := errors.AsType[*redislock.ConflictError](err)
				if !is || conflict.Metadata != "holder" {
					t.Fatalf("got error %v, want a conflict with the holder", err)
				}
				if left := time.Until(lock.Deadline()); here && (conflict.TTL < left-time.Second || conflict.TTL > left+time.Second) {
					t.Errorf("got a TTL of %v, want %v", conflict.TTL, left)
				}
				if n := s.sent.Load() - before; n != 0 {
					t.Errorf("%d scripts were sent, want none", n)
				}
				leave()
				if !here {
					check.Is(t, s.ends("first"), context.Canceled)
				}
			})
		})
	}
}

// Who gives up behind others of its Client, while nobody knows who is in the way, asks once and waits for the answer no longer than
// others whose context has ended. Without an answer the outcome is not known.
func TestGivesUpBehindSilence(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		p := &world.FakeServer{Script: func(check.Run) string { return "" }}
		client := world.NewClient(t, p.Client(t), redislock.WithHooks(redislock.Hooks{
			Lost: func(context.Context, redislock.Event) {}, // with hooks the first one has a place before the others
		}))
		s := &scene{World: &world.World{Client: client}, t: t, keys: []string{"k"}, turns: make(chan world.Turn, 2)}
		ctx, cancel := context.WithCancel(t.Context())
		s.waits(ctx, client, options("first"))
		began := time.Now()
		second, cancelSecond := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancelSecond()
		s.waits(second, client, options("second"))
		err := s.ends("second")
		check.Is(t, err, context.DeadlineExceeded, redislock.ErrUnknownOutcome)
		if took := time.Since(began); took > 125*time.Millisecond {
			t.Errorf("it has ended after %v", took)
		}
		cancel()
		check.Is(t, s.ends("first"), context.Canceled)
	})
}

// A lock that knew of nobody is given to who polls, also after others have polled or queued, and have got it or given up.
func TestGivesToWhoPollsAfterOthers(t *testing.T) {
	for name, others := range map[string]func(who string) *redislock.Options{"queue": options, "poll": polls} {
		for how, gets := range map[string]bool{"has got it": true, "has given up": false} {
			t.Run(name+", "+how, func(t *testing.T) {
				play(t, func(t *testing.T, s *scene) {
					client := world.NewClient(t, s.RDB) // without hooks, so that it goes the short way if it can
					lock := s.obtain(client, nil)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s.waits(ctx, client, others("other"))
					if !gets {
						cancel()
						check.Is(t, s.ends("other"), context.Canceled)
					}
					check.NoError(t, lock.Release(t.Context()))
					if gets {
						check.NoError(t, s.wants("other").Release(t.Context()))
					}
					time.Sleep(10 * time.Second) // nobody hears messages any more
					lock = s.obtain(client, nil)
					s.waits(t.Context(), client, polls("waiter"))
					time.Sleep(every / 2)
					began := time.Now()
					check.NoError(t, lock.Release(t.Context()))
					next := s.wants("waiter")
					if took := time.Since(began); took != 0 {
						t.Errorf("it was given the keys after %s, want at once", took)
					}
					check.NoError(t, next.Release(t.Context()))
				})
			})
		}
	}
}

// A lock is passed on without Redis only to who asks for the same, and by a Release that nobody else has to know of.
func TestPassesOnToTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		ttl     time.Duration // of the next one
		does    func(t *testing.T, lock *redislock.Lock)
		with    func(context.Context) context.Context
		scripts bool
	}{
		"the same":    {ttl: world.Long},
		"another ttl": {ttl: world.Long / 2, scripts: true},
		"refreshed": {ttl: world.Long, scripts: true, does: func(t *testing.T, lock *redislock.Lock) {
			t.Helper()
			check.NoError(t, lock.Refresh(t.Context(), world.Long))
		}},
		"given back": {ttl: world.Long, scripts: true, with: pace.GivingBack},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				lock := s.obtain(s.Client, passing(time.Minute))
				if c.does != nil {
					c.does(t, lock)
				}
				turns := make(chan *redislock.Lock, 1)
				go func() {
					lock, err := s.Client.Obtain(t.Context(), s.keys, c.ttl, passing(time.Minute))
					if err != nil {
						t.Error(err)
					}
					turns <- lock
				}()
				time.Sleep(time.Millisecond)
				ctx := t.Context()
				if c.with != nil {
					ctx = c.with(ctx)
				}
				before := s.sent.Load()
				check.NoError(t, lock.Release(ctx))
				next := <-turns
				if n := s.sent.Load() - before; (n > 0) != c.scripts {
					t.Errorf("%d scripts were sent, want some: %t", n, c.scripts)
				}
				check.NoError(t, next.Release(t.Context()))
			})
		})
	}
}

// An Obtain under a lock that is in its own way says so at once.
func TestOwnLockInTheWay(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		check.NoError(t, s.Client.With(t.Context(), s.keys, world.Long, options("outer"), func(ctx context.Context) error {
			began := time.Now()
			within, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := s.Client.Obtain(within, s.keys, world.Long, options("inner"))
			conflict, is := errors.AsType[*redislock.ConflictError](err)
			if took := time.Since(began); !is || !conflict.Own || took != 0 {
				t.Errorf("got %v after %v, want that its own lock is in the way, at once", err, took)
			}
			return nil
		}))
	})
}
