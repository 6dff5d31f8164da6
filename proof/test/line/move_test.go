package line_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestQueueMovingSlot(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 0)
	clients := []*redislock.Client{s.NewClient(t), s.NewClient(t)}
	both := func(t *testing.T, node *redistest.Server, tag string) bool {
		t.Helper()
		n := 0
		for name := range subscribers(t, s.Admin[node], "shard") {
			if strings.Contains(name, tag) {
				n++
			}
		}
		return n == len(clients)
	}

	t.Run("while they wait", func(t *testing.T) {
		tag := s.Tags(t, 1, s.Nodes()[0])[0]
		set := []string{tag + "a", tag + "b"}
		holder := check.Must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, world.Long, world.Queue()))
		waiters := world.NewWaiters(t)
		names := waiters.Line(t, 6, set, clients...)
		s.StartMove(tag, s.Nodes()[1]).Finish()
		check.Eventually(t, 4*time.Second, "both have subscribed at the new master", func() bool { return both(t, s.Nodes()[1], tag) })
		(&world.World{Client: clients[0]}).InLine(t, set[1], len(names))
		watch := check.StartWatch(t)
		check.NoError(t, holder.Release(t.Context()))
		world.WantOrder(t, waiters.Served(t), names)
		world.WantNotified(t, watch)
		s.WantNothing(t)
	})
	t.Run("released meanwhile", func(t *testing.T) { lineMoving(t, s, clients) })
	t.Run("unknown to who comes later", func(t *testing.T) {
		tag := s.Tags(t, 1, s.Nodes()[0])[0]
		var late []*redislock.Client // they know the Cluster as it was
		for range 8 {
			client := s.NewClient(t)
			check.NoError(t, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{tag}, world.Long, nil)).Release(t.Context()))
			late = append(late, client)
		}
		holder := check.Must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), []string{tag}, world.Long, nil))
		s.StartMove(tag, s.Nodes()[1]).Finish()
		waiters := world.NewWaiters(t)
		for i, client := range late {
			waiters.WG.Go(func() { waiters.Turn(client, fmt.Sprint(i), []string{tag}, nil) })
		}
		check.Eventually(t, 5*time.Second, "all stand in line, or have failed", func() bool {
			states := check.Must[[]redislock.KeyState](t)(clients[0].Inspect(t.Context(), []string{tag}))
			return len(states[0].Line)+waiters.Failed() == len(late)
		})
		check.NoError(t, holder.Release(t.Context()))
		waiters.Served(t)
		s.WantNothing(t)
	})
	t.Run("of others", func(t *testing.T) {
		tags := s.Tags(t, 2, s.Nodes()[0])
		moves := check.Must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), tags[:1], world.Long, world.Queue()))
		stays := check.Must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), tags[1:], world.Long, world.Queue()))
		waiters, others := world.NewWaiters(t), world.NewWaiters(t)
		others.Line(t, 2, tags[:1], clients[1])
		names := waiters.Line(t, 10, tags[1:], clients[1])
		s.StartMove(tags[0], s.Nodes()[1]).Finish()
		check.NoError(t, stays.Release(t.Context()))
		check.NoError(t, moves.Release(t.Context()))
		others.Served(t)
		world.WantOrder(t, waiters.Served(t), names)
		s.WantNothing(t)
	})
}

// lineMoving has the lock released while its slot is on its way, when so many of the keys have
// gone: a Release that is answered TRYAGAIN waits until it can.
func lineMoving(t *testing.T, s *world.Shards, clients []*redislock.Client) {
	t.Helper()
	for gone, what := range []string{"nothing", "a lock key", "all lock keys", "a line", "everything"} {
		t.Run(what+" has gone", func(t *testing.T) {
			tag := s.Tags(t, 1, s.Nodes()[0])[0]
			set := []string{tag + "a", tag + "b"}
			holder := check.Must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, world.Long, world.Queue()))
			waiters := world.NewWaiters(t)
			names := waiters.Line(t, 6, set, clients...)
			move := s.StartMove(tag, s.Nodes()[1])
			if gone > 0 {
				move.Keys([]string{set[0], set[1], "redislock:line:" + set[0], "redislock:line:" + set[1]}[:gone]...)
			}
			freed := make(chan error, 1)
			go func() { freed <- holder.Release(waiters.Ctx) }()
			var err error
			select {
			case err = <-freed:
				move.Finish()
			case <-time.After(300 * time.Millisecond): // it tries again
				move.Finish()
				err = <-freed
			}
			check.NoError(t, err)
			if order := waiters.Served(t); len(order) != len(names) {
				t.Errorf("%q were served, want %q", order, names)
			}
			s.WantOnlyGuards(t, tag)
		})
	}
}
