package redislock_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
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

// isTryAgain reports whether an error is that of the server, and nothing else: nobody has the keys
// for it, and nothing was done.
func isTryAgain(err error) bool {
	return err != nil && strings.Contains(err.Error(), "TRYAGAIN") && !errors.Is(err, redislock.ErrNotObtained) &&
		!errors.Is(err, redislock.ErrUnknownOutcome) && !errors.Is(err, redislock.ErrLockNotHeld)
}

// A lock whose slot is on its way is nobody else's. What concerns its keys alone goes on, unless they
// are on two servers; what also looks at what is beside them, and is not there, has to wait until all
// is over.
func TestMovingSlotHeld(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	for _, kind := range tenancies {
		for _, watchdog := range []bool{false, true} {
			for at := begun; at <= moved; at++ {
				t.Run(fmt.Sprintf("%s %s watched %t", at, kind.name, watchdog), func(t *testing.T) {
					t.Parallel()
					tag := s.tags(t, 1, s.Nodes()[0])[0]
					client := s.client(t)
					h := kind.hold(t, client, tag, long, watchdog)
					h.contest(t, s.client(t))
					finish := s.moveTo(at, h.keys, s.Nodes()[1])
					h.lives(t, client, at)
					if err := h.release(t); (at == moved) != (err == nil) || err != nil && !isTryAgain(err) {
						t.Errorf("got error %v from Release", err)
					}
					finish()
					noError(t, h.succeeded(t).Release(t.Context()))
					s.wantGone(t, tag)
				})
			}
		}
	}
}

// lives does with the lock what can be done with one, while its slot is on its way.
func (h *tenure) lives(t *testing.T, client *redislock.Client, at stage) {
	t.Helper()
	ctx := t.Context()
	check := func(what string, err error, works bool) {
		t.Helper()
		if works && err != nil || !works && !isTryAgain(err) {
			t.Errorf("%s: got error %v; it works: %t", what, err, works)
		}
	}
	check("refresh", h.lock.Refresh(ctx, long), at != half)
	left, err := h.lock.TTL(ctx)
	check("ttl", err, at != half)
	if err == nil && left < long/2 {
		t.Errorf("got %v left of %v", left, long)
	}
	_, err = client.Inspect(ctx, h.keys...)
	check("inspect", err, at == moved)
	if _, err = client.Obtain(ctx, h.keys, long, nil); at != moved || !errors.Is(err, redislock.ErrNotObtained) {
		check("obtain", err, false)
	}
	before := h.lock.Fence()
	check("downgrade", h.lock.Downgrade(ctx), at == moved)
	check("upgrade", h.lock.Upgrade(ctx), at == moved)
	if after := h.lock.Fence(); after < before || after == before && at == moved && before > 0 {
		t.Errorf("got number %d after %d", after, before)
	}
	h.wantKept(t)
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

// visit has its caller wait for the locks with a strategy, hold them for a moment, and release them.
// On a slot that is on its way Refresh and Release may be told to try again.
func (c *throng) visit(client *redislock.Client, who string, write, read []string) {
	c.visitWith(client, who, write, read, &redislock.Options{RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond)})
}

func (c *throng) visitWith(client *redislock.Client, who string, write, read []string, opt *redislock.Options) {
	lock, err := client.ObtainMixed(c.ctx, write, read, long, opt)
	if err == nil {
		leave := c.hold(who, write, read)
		time.Sleep(time.Millisecond)
		err = passed(lock.Refresh(c.ctx, long))
		leave()
		err = errors.Join(err, passed(lock.Release(c.ctx)))
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults = append(c.faults, fmt.Errorf("%s: %w", who, err))
	}
}

// passed drops an error that is over when the move is.
func passed(err error) error {
	if isTryAgain(err) {
		return nil
	}
	return err
}

// Many take locks at all servers while slots move to and fro: nobody is refused for it, and no two
// have what only one may have.
func TestMovingSlotsHammer(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	tags := s.tags(t, 2, s.Nodes()...)
	throng := newThrong(t, time.Minute)
	var rounds atomic.Int64
	for c, client := range []*redislock.Client{s.client(t), s.client(t)} {
		for g := range 4 * len(tags) {
			throng.wg.Go(func() {
				tag := tags[g%len(tags)]
				keys := []string{tag + "a", tag + "b"}
				write := []int{2, 2, 0, 1}[g/len(tags)]
				for i := 0; rounds.Load() >= 0 && throng.ctx.Err() == nil; i++ {
					throng.visit(client, fmt.Sprintf("%s:%d:%d:%d", tag, c, g, i), keys[:write], keys[write:])
				}
			})
		}
	}
	for i := range 18 {
		tag, to := tags[i%len(tags)], s.Nodes()[(i+i/len(tags))%3]
		if s.MasterOf(tag) == to {
			continue
		}
		move := s.StartMove(tag, to)
		for _, key := range []string{tag + "a", tag + "b"} {
			time.Sleep(20 * time.Millisecond) // somebody comes meanwhile
			move.Keys(key)
		}
		move.Finish()
		rounds.Add(1)
	}
	t.Logf("%d slots have moved", rounds.Swap(-1))
	t.Logf("%d had their locks", len(throng.served(t)))
	for _, tag := range tags {
		s.wantGone(t, tag)
	}
}
