package topology_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A stage is how far the move of a slot with two lock keys has come.
type stage int

const (
	begun stage = iota // nothing has gone yet
	half               // the first key has gone
	gone               // both have
	moved              // and everybody knows
)

func (s stage) String() string { return [...]string{"begun", "half", "gone", "moved"}[s] }

// moveTo begins to move the slot of a set, goes on up to a stage, and returns what finishes it.
func moveTo(s *world.Shards, at stage, keys []string, to *redistest.Server) (finish func()) {
	move := s.StartMove(keys[0], to)
	switch at {
	case half:
		move.Keys(keys[0])
	case gone:
		move.Keys(keys...)
	case moved:
		move.Finish()
		return func() {}
	}
	return move.Finish
}

// leftOf returns what there is of a tag on all servers, but for the fencing numbers, which stay.
func leftOf(t *testing.T, s *world.Shards, tag string) []string {
	t.Helper()
	var keys []string
	for _, rdb := range s.Admin {
		for _, key := range check.Must[[]string](t)(rdb.Keys(t.Context(), "*"+tag+"*").Result()) {
			if !strings.HasPrefix(key, "redislock:fence") {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// wantGone waits until nothing is left of a tag.
func wantGone(t *testing.T, s *world.Shards, tag string) {
	t.Helper()
	check.Eventually(t, 20*time.Second, "nothing is left", func() bool { return len(leftOf(t, s, tag)) == 0 })
}

// wantOnlyGuards waits until nothing is left of a tag but guards, against requests whose outcome was not known in time.
func wantOnlyGuards(t *testing.T, s *world.Shards, tag string) {
	t.Helper()
	check.Eventually(t, 20*time.Second, "nothing but guards is left", func() bool {
		rdb := s.Admin[s.MasterOf(tag)]
		keys := check.Must[[]string](t)(rdb.Keys(t.Context(), "*"+tag+"*").Result())
		return len(check.WithoutGuards(t.Context(), rdb, keys...)) == 0
	})
}

// isTryAgain reports whether an error is that of the server, and nothing else: nobody has the keys
// for it, and nothing was done.
func isTryAgain(err error) bool {
	return err != nil && strings.Contains(err.Error(), "TRYAGAIN") && !errors.Is(err, redislock.ErrNotObtained) &&
		!errors.Is(err, redislock.ErrUnknownOutcome) && !errors.Is(err, redislock.ErrLockNotHeld)
}

// countsTryAgain is a hook that counts how often a server answers TRYAGAIN.
func countsTryAgain(times *atomic.Int64) check.Around {
	return check.Around{After: func(cmd redis.Cmder) {
		if redis.HasErrorPrefix(cmd.Err(), "TRYAGAIN") {
			times.Add(1)
		}
	}}
}

// While the slot of a lock is on its way nobody else gets the lock. Operations on its keys alone go on, unless the keys are
// on two servers. Operations that also read keys beside them, which do not exist, wait until the move is over.
// No caller sees a TRYAGAIN.
func TestMovingSlotHeld(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 0)
	for _, kind := range world.LockKinds {
		for _, watchdog := range []bool{false, true} {
			for at := begun; at <= moved; at++ {
				t.Run(fmt.Sprintf("%s %s watched %t", at, kind.Name, watchdog), func(t *testing.T) {
					t.Parallel()
					tag := s.Tags(t, 1, s.Nodes()[0])[0]
					rdb := s.Client(t)
					client := world.NewClient(t, rdb)
					h := kind.Hold(t, client, tag, world.Long, watchdog)
					h.Contest(t, s.NewClient(t))
					finish := moveTo(s, at, h.Keys, s.Nodes()[1])
					var refusals atomic.Int64
					rdb.AddHook(countsTryAgain(&refusals))
					if at != half {
						agrees(t, h)
					}
					during(t, at, &refusals, finish, lives(h), func(ctx context.Context) error {
						_, err := client.Inspect(ctx, h.Keys)
						return err
					}, func(ctx context.Context) error {
						if _, err := client.Obtain(ctx, h.Keys, world.Long, nil); !errors.Is(err, redislock.ErrNotObtained) {
							return fmt.Errorf("got %w, want ErrNotObtained", err)
						}
						return nil
					})
					agrees(t, h)
					h.WantKept(t)
					check.NoError(t, h.Release(t))
					check.NoError(t, h.Succeeded(t).Release(t.Context()))
					wantGone(t, s, tag)
				})
			}
		}
	}
}

// A Release waits until the move is over, too.
func TestMovingSlotReleased(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 0)
	for _, kind := range world.LockKinds {
		for at := begun; at <= gone; at++ {
			t.Run(fmt.Sprintf("%s %s", at, kind.Name), func(t *testing.T) {
				t.Parallel()
				tag := s.Tags(t, 1, s.Nodes()[0])[0]
				var refusals atomic.Int64
				rdb := s.Client(t)
				rdb.AddHook(countsTryAgain(&refusals))
				h := kind.Hold(t, world.NewClient(t, rdb), tag, world.Long, false)
				h.Contest(t, s.NewClient(t))
				finish := moveTo(s, at, h.Keys, s.Nodes()[1])
				h.Ends.Store(true)
				during(t, at, &refusals, finish, h.Lock.Release)
				check.NoError(t, h.Succeeded(t).Release(t.Context()))
				wantGone(t, s, tag)
			})
		}
	}
}

// agrees asks for what concerns the keys alone.
func agrees(t *testing.T, h *world.HeldLock) {
	t.Helper()
	check.NoError(t, h.Lock.Refresh(t.Context(), world.Long))
	if left := check.Must[time.Duration](t)(h.Lock.TTL(t.Context())); left < world.Long/2 {
		t.Errorf("got %v left of %v", left, world.Long)
	}
}

// during does things at the same time while a slot moves. It finishes the move when each of them was answered TRYAGAIN, if
// the stage has them answered so, and wants all of them to succeed then.
func during(t *testing.T, at stage, refusals *atomic.Int64, finish func(), things ...func(context.Context) error) {
	t.Helper()
	done := make(chan error, len(things))
	for _, do := range things {
		go func() { done <- do(t.Context()) }()
	}
	if at != moved {
		check.Eventually(t, 20*time.Second, "all were answered TRYAGAIN", func() bool { return refusals.Load() >= int64(len(things)) })
		finish()
	}
	for range things {
		check.NoError(t, <-done)
	}
}

// lives changes the lock, and back.
func lives(h *world.HeldLock) func(context.Context) error {
	return func(ctx context.Context) error {
		before := h.Lock.Fence()
		err := errors.Join(h.Lock.Downgrade(ctx), h.Lock.Upgrade(ctx))
		if after := h.Lock.Fence(); after < before || after == before && before > 0 {
			return errors.Join(err, fmt.Errorf("got number %d after %d", after, before))
		}
		return err
	}
}

// The watchdog renews a lease while the slot is on its way, and again after it could not.
func TestMovingSlotWatched(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 0)
	for _, kind := range world.LockKinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			const ttl = 9 * time.Second
			tag := s.Tags(t, 1, s.Nodes()[0])[0]
			j := new(world.Journal)
			client := redislock.New(s.Client(t), redislock.WithHooks(j.Hooks()))
			t.Cleanup(client.Close)
			h := kind.Hold(t, client, tag, ttl, true)
			h.Contest(t, s.NewClient(t))
			move := s.StartMove(tag, s.Nodes()[1])
			h.Renewed(t, ttl)
			move.Keys(h.Keys[0])
			check.Eventually(t, ttl, "a renewal fails", func() bool { return isTryAgain(j.Err("refreshed")) })
			h.WantKept(t)
			move.Keys(h.Keys[1])
			h.Renewed(t, ttl)
			move.Finish()
			h.Renewed(t, ttl)
			check.NoError(t, h.Release(t))
			check.NoError(t, h.Succeeded(t).Release(t.Context()))
			wantGone(t, s, tag)
		})
	}
}

// Nothing can renew a lock whose keys are on two servers: its context ends in time.
func TestMovingSlotTooLong(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 0)
	for _, kind := range world.LockKinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			const ttl = 2 * time.Second
			tag := s.Tags(t, 1, s.Nodes()[0])[0]
			h := kind.Hold(t, s.NewClient(t), tag, ttl, true)
			move := s.StartMove(tag, s.Nodes()[1])
			move.Keys(h.Keys[0])
			h.WantLost(t)
			h.Ends.Store(true)
			h.Contest(t, s.NewClient(t))
			move.Finish()
			successor := h.Succeeded(t)
			check.Is(t, h.Release(t), redislock.ErrLockNotHeld)
			if left := check.Must[time.Duration](t)(successor.TTL(t.Context())); left < world.Long/2 {
				t.Errorf("got %v left of the next lock, want nearly %v", left, world.Long)
			}
			check.NoError(t, successor.Release(t.Context()))
			wantGone(t, s, tag)
		})
	}
}

// Clients that know the Cluster as it was find a lock where it is.
func TestMovedSlotUnknown(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 0)
	for _, kind := range world.LockKinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			tag := s.Tags(t, 1, s.Nodes()[0])[0]
			ctx, next := t.Context(), make(chan *redislock.Client, 6)
			for range cap(next) {
				client := s.NewClient(t)
				check.NoError(t, check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{tag + "a"}, world.Long, nil)).Release(ctx))
				next <- client
			}
			h := kind.Hold(t, s.NewClient(t), tag, world.Long, false)
			moveTo(s, moved, h.Keys, s.Nodes()[1])
			attached := func() *redislock.Lock { return (<-next).Attach(h.Keys, h.Lock.Token()) }
			_, err := (<-next).Obtain(ctx, h.Keys, world.Long, nil)
			check.Is(t, err, redislock.ErrNotObtained)
			if states := check.Must[[]redislock.KeyState](t)((<-next).Inspect(ctx, h.Keys)); len(states[0].Holders) != 1 {
				t.Errorf("got states %v, want one holder", states)
			}
			if left := check.Must[time.Duration](t)(attached().TTL(ctx)); left < world.Long/2 {
				t.Errorf("got %v left of %v", left, world.Long)
			}
			check.NoError(t, attached().Refresh(ctx, 2*world.Long))
			check.NoError(t, attached().Release(ctx))
			if keys := leftOf(t, s, tag); len(keys) > 0 {
				t.Errorf("%q are left", keys)
			}
			check.Is(t, attached().Release(ctx), redislock.ErrLockNotHeld)
		})
	}
}
