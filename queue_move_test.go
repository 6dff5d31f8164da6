package redislock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestQueueMovingSlot(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	clients := []*redislock.Client{s.client(t), s.client(t)}
	both := func(t *testing.T, node *redistest.Server, tag string) bool {
		t.Helper()
		n := 0
		for name := range heard(t, s.admin[node], "shard") {
			if strings.Contains(name, tag) {
				n++
			}
		}
		return n == len(clients)
	}

	t.Run("while they wait", func(t *testing.T) {
		tag := s.tags(t, 1, s.Nodes()[0])[0]
		set := []string{tag + "a", tag + "b"}
		holder := must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, long, queue()))
		throng := newThrong(t)
		names := throng.line(t, 6, set, clients...)
		s.StartMove(tag, s.Nodes()[1]).Finish()
		eventually(t, 4*time.Second, "both hear at the new master", func() bool { return both(t, s.Nodes()[1], tag) })
		(&world{client: clients[0]}).inLine(t, set[1], len(names))
		watch := startWatch(t)
		noError(t, holder.Release(t.Context()))
		wantOrder(t, throng.served(t), names)
		wereTold(t, watch)
		s.wantNothing(t)
	})
	t.Run("released meanwhile", func(t *testing.T) { queueMoving(t, s, clients) })
	t.Run("unknown to who comes later", func(t *testing.T) {
		tag := s.tags(t, 1, s.Nodes()[0])[0]
		var late []*redislock.Client // they know the Cluster as it was
		for range 8 {
			client := s.client(t)
			noError(t, must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{tag}, long, nil)).Release(t.Context()))
			late = append(late, client)
		}
		holder := must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), []string{tag}, long, nil))
		s.StartMove(tag, s.Nodes()[1]).Finish()
		throng := newThrong(t)
		for i, client := range late {
			throng.wg.Go(func() { throng.turn(client, fmt.Sprint(i), []string{tag}, nil) })
		}
		eventually(t, 5*time.Second, "all stand in line, or have failed", func() bool {
			states := must[[]redislock.KeyState](t)(clients[0].Inspect(t.Context(), tag))
			return len(states[0].Line)+throng.failed() == len(late)
		})
		noError(t, holder.Release(t.Context()))
		throng.served(t)
		s.wantNothing(t)
	})
	t.Run("of others", func(t *testing.T) {
		tags := s.tags(t, 2, s.Nodes()[0])
		moves := must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), tags[:1], long, queue()))
		stays := must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), tags[1:], long, queue()))
		throng, others := newThrong(t), newThrong(t)
		others.line(t, 2, tags[:1], clients[1])
		names := throng.line(t, 10, tags[1:], clients[1])
		s.StartMove(tags[0], s.Nodes()[1]).Finish()
		noError(t, stays.Release(t.Context()))
		noError(t, moves.Release(t.Context()))
		others.served(t)
		wantOrder(t, throng.served(t), names)
		s.wantNothing(t)
	})
}

// queueMoving has the lock released while its slot is on its way, when so many of the keys have
// gone: a Release that is told to try again waits until it can.
func queueMoving(t *testing.T, s *shards, clients []*redislock.Client) {
	t.Helper()
	for gone, what := range []string{"nothing", "a lock key", "all lock keys", "a line", "everything"} {
		t.Run(what+" has gone", func(t *testing.T) {
			tag := s.tags(t, 1, s.Nodes()[0])[0]
			set := []string{tag + "a", tag + "b"}
			holder := must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, long, queue()))
			throng := newThrong(t)
			names := throng.line(t, 6, set, clients...)
			move := s.StartMove(tag, s.Nodes()[1])
			if gone > 0 {
				move.Keys([]string{set[0], set[1], "redislock:line:" + set[0], "redislock:line:" + set[1]}[:gone]...)
			}
			freed := make(chan error, 1)
			go func() { freed <- holder.Release(throng.ctx) }()
			var err error
			select {
			case err = <-freed:
				move.Finish()
			case <-time.After(300 * time.Millisecond): // it tries again
				move.Finish()
				err = <-freed
			}
			noError(t, err)
			if order := throng.served(t); len(order) != len(names) {
				t.Errorf("%q were served, want %q", order, names)
			}
			s.wantOnlyGuards(t, tag)
		})
	}
}
