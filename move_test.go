package redislock_test

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
func (s *shards) moveTo(at stage, keys []string, to *redistest.Server) (finish func()) {
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

// left returns what there is of a tag on all servers, but for the fencing numbers, which stay.
func (s *shards) left(t *testing.T, tag string) []string {
	t.Helper()
	var keys []string
	for _, rdb := range s.admin {
		for _, key := range must[[]string](t)(rdb.Keys(t.Context(), "*"+tag+"*").Result()) {
			if !strings.HasPrefix(key, "redislock:fence") {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// wantGone waits until nothing is left of a tag.
func (s *shards) wantGone(t *testing.T, tag string) {
	t.Helper()
	eventually(t, 20*time.Second, "nothing is left", func() bool { return len(s.left(t, tag)) == 0 })
}

// wantOnlyGuards is wantGone where a request may not have been answered.
func (s *shards) wantOnlyGuards(t *testing.T, tag string) {
	t.Helper()
	eventually(t, 20*time.Second, "nothing but guards is left", func() bool {
		left := 0
		for _, rdb := range s.admin {
			keys := must[[]string](t)(rdb.Keys(t.Context(), "*"+tag+"*").Result())
			left += len(check.WithoutGuards(t.Context(), rdb, keys...))
		}
		return left == 0
	})
}

// isTryAgain reports whether an error is that of the server, and nothing else: nobody has the keys
// for it, and nothing was done.
func isTryAgain(err error) bool {
	return err != nil && strings.Contains(err.Error(), "TRYAGAIN") && !errors.Is(err, redislock.ErrNotObtained) &&
		!errors.Is(err, redislock.ErrUnknownOutcome) && !errors.Is(err, redislock.ErrLockNotHeld)
}

// puzzled is a hook that counts how often a client is told to try again.
func puzzled(times *atomic.Int64) check.Answered {
	return func(cmd redis.Cmder) {
		if redis.HasErrorPrefix(cmd.Err(), "TRYAGAIN") {
			times.Add(1)
		}
	}
}

// A lock whose slot is on its way is nobody else's. What concerns its keys alone goes on, unless they
// are on two servers; what also looks at what is beside them, and is not there, waits until all is over.
// Nobody is told to try again.
func TestMovingSlotHeld(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	for _, kind := range tenancies {
		for _, watchdog := range []bool{false, true} {
			for at := begun; at <= moved; at++ {
				t.Run(fmt.Sprintf("%s %s watched %t", at, kind.name, watchdog), func(t *testing.T) {
					t.Parallel()
					tag := s.tags(t, 1, s.Nodes()[0])[0]
					rdb := s.Client(t)
					client := newClient(t, rdb)
					h := kind.hold(t, client, tag, long, watchdog)
					h.contest(t, s.client(t))
					finish := s.moveTo(at, h.keys, s.Nodes()[1])
					var told atomic.Int64
					rdb.AddHook(puzzled(&told))
					if at != half {
						h.agrees(t)
					}
					h.during(t, at, &told, finish, h.lives(), func(ctx context.Context) error {
						_, err := client.Inspect(ctx, h.keys...)
						return err
					}, func(ctx context.Context) error {
						if _, err := client.Obtain(ctx, h.keys, long, nil); !errors.Is(err, redislock.ErrNotObtained) {
							return fmt.Errorf("got %w, want ErrNotObtained", err)
						}
						return nil
					})
					h.agrees(t)
					h.wantKept(t)
					noError(t, h.release(t))
					noError(t, h.succeeded(t).Release(t.Context()))
					s.wantGone(t, tag)
				})
			}
		}
	}
}

// So a Release waits, too.
func TestMovingSlotReleased(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	for _, kind := range tenancies {
		for at := begun; at <= gone; at++ {
			t.Run(fmt.Sprintf("%s %s", at, kind.name), func(t *testing.T) {
				t.Parallel()
				tag := s.tags(t, 1, s.Nodes()[0])[0]
				var told atomic.Int64
				rdb := s.Client(t)
				rdb.AddHook(puzzled(&told))
				h := kind.hold(t, newClient(t, rdb), tag, long, false)
				h.contest(t, s.client(t))
				finish := s.moveTo(at, h.keys, s.Nodes()[1])
				h.ends.Store(true)
				h.during(t, at, &told, finish, h.lock.Release)
				noError(t, h.succeeded(t).Release(t.Context()))
				s.wantGone(t, tag)
			})
		}
	}
}

// agrees asks for what concerns the keys alone.
func (h *tenure) agrees(t *testing.T) {
	t.Helper()
	noError(t, h.lock.Refresh(t.Context(), long))
	if left := must[time.Duration](t)(h.lock.TTL(t.Context())); left < long/2 {
		t.Errorf("got %v left of %v", left, long)
	}
}

// during does things at once while a slot moves, finishes the move when each of them has been told to
// try again, if any of them is, and wants all of them to succeed then.
func (h *tenure) during(t *testing.T, at stage, told *atomic.Int64, finish func(), things ...func(context.Context) error) {
	t.Helper()
	done := make(chan error, len(things))
	for _, do := range things {
		go func() { done <- do(t.Context()) }()
	}
	if at != moved {
		eventually(t, 20*time.Second, "all are told to try again", func() bool { return told.Load() >= int64(len(things)) })
		finish()
	}
	for range things {
		noError(t, <-done)
	}
}

// lives changes the lock, and back.
func (h *tenure) lives() func(context.Context) error {
	return func(ctx context.Context) error {
		before := h.lock.Fence()
		err := errors.Join(h.lock.Downgrade(ctx), h.lock.Upgrade(ctx))
		if after := h.lock.Fence(); after < before || after == before && before > 0 {
			return errors.Join(err, fmt.Errorf("got number %d after %d", after, before))
		}
		return err
	}
}

// The watchdog renews a lease while the slot is on its way, and again after it could not.
func TestMovingSlotWatched(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	for _, kind := range tenancies {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			const ttl = 9 * time.Second
			tag := s.tags(t, 1, s.Nodes()[0])[0]
			j := new(journal)
			client := redislock.New(s.Client(t), redislock.WithHooks(j.hooks()))
			t.Cleanup(client.Close)
			h := kind.hold(t, client, tag, ttl, true)
			h.contest(t, s.client(t))
			move := s.StartMove(tag, s.Nodes()[1])
			h.renewed(t, ttl)
			move.Keys(h.keys[0])
			eventually(t, ttl, "a renewal fails", func() bool { return isTryAgain(j.err("refreshed")) })
			h.wantKept(t)
			move.Keys(h.keys[1])
			h.renewed(t, ttl)
			move.Finish()
			h.renewed(t, ttl)
			noError(t, h.release(t))
			noError(t, h.succeeded(t).Release(t.Context()))
			s.wantGone(t, tag)
		})
	}
}

// Nothing can renew a lock whose keys are on two servers: that it is lost for it is told in time.
func TestMovingSlotTooLong(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	for _, kind := range tenancies {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			const ttl = 2 * time.Second
			tag := s.tags(t, 1, s.Nodes()[0])[0]
			h := kind.hold(t, s.client(t), tag, ttl, true)
			move := s.StartMove(tag, s.Nodes()[1])
			move.Keys(h.keys[0])
			h.wantTold(t)
			h.ends.Store(true)
			h.contest(t, s.client(t))
			move.Finish()
			heir := h.succeeded(t)
			wantIs(t, h.release(t), redislock.ErrLockNotHeld)
			if left := must[time.Duration](t)(heir.TTL(t.Context())); left < long/2 {
				t.Errorf("got %v left of the next lock, want nearly %v", left, long)
			}
			noError(t, heir.Release(t.Context()))
			s.wantGone(t, tag)
		})
	}
}

// Clients that know the Cluster as it was find a lock where it is.
func TestMovedSlotUnknown(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	for _, kind := range tenancies {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			tag := s.tags(t, 1, s.Nodes()[0])[0]
			ctx, next := t.Context(), make(chan *redislock.Client, 6)
			for range cap(next) {
				client := s.client(t)
				noError(t, must[*redislock.Lock](t)(client.Obtain(ctx, []string{tag + "a"}, long, nil)).Release(ctx))
				next <- client
			}
			h := kind.hold(t, s.client(t), tag, long, false)
			s.moveTo(moved, h.keys, s.Nodes()[1])
			attached := func() *redislock.Lock { return (<-next).Attach(h.keys, h.lock.Token()) }
			_, err := (<-next).Obtain(ctx, h.keys, long, nil)
			wantIs(t, err, redislock.ErrNotObtained)
			if states := must[[]redislock.KeyState](t)((<-next).Inspect(ctx, h.keys...)); len(states[0].Holders) != 1 {
				t.Errorf("got states %v, want one holder", states)
			}
			if left := must[time.Duration](t)(attached().TTL(ctx)); left < long/2 {
				t.Errorf("got %v left of %v", left, long)
			}
			noError(t, attached().Refresh(ctx, 2*long))
			noError(t, attached().Release(ctx))
			if keys := s.left(t, tag); len(keys) > 0 {
				t.Errorf("%q are left", keys)
			}
			wantIs(t, attached().Release(ctx), redislock.ErrLockNotHeld)
		})
	}
}
