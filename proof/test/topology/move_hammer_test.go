package topology_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/world"
)

// visit has its caller wait for the locks with a strategy, hold them for a moment, and release them.
func visit(c *world.Waiters, client *redislock.Client, who string, write, read []string) {
	visitWith(c, client, who, write, read, &redislock.Options{RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond)})
}

func visitWith(c *world.Waiters, client *redislock.Client, who string, write, read []string, opt *redislock.Options) {
	lock, err := client.ObtainSet(c.Ctx, redislock.Set{Write: write, Read: read}, world.Long, opt)
	if err == nil {
		leave := c.Hold(who, write, read)
		time.Sleep(time.Millisecond)
		err = lock.Refresh(c.Ctx, world.Long)
		leave()
		err = errors.Join(err, lock.Release(c.Ctx))
	}
	c.Note(who, err)
}

// visitAll has the clients visit two keys of each tag, to write, read or both, until it is over.
func visitAll(c *world.Waiters, tags []string, over *atomic.Bool, clients ...*redislock.Client) {
	for n, client := range clients {
		for g := range 4 * len(tags) {
			c.WG.Go(func() {
				tag := tags[g%len(tags)]
				keys := []string{tag + "a", tag + "b"}
				write := []int{2, 2, 0, 1}[g/len(tags)]
				for i := 0; !over.Load() && c.Ctx.Err() == nil; i++ {
					visit(c, client, fmt.Sprintf("%s:%d:%d:%d", tag, n, g, i), keys[:write], keys[write:])
				}
			})
		}
	}
}

// Many take locks at all servers while slots move to and fro: nobody is refused for it, and no two
// have what only one may have.
func TestMovingSlotsHammer(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 0)
	tags := s.Tags(t, 2, s.Nodes()...)
	waiters := world.NewWaiters(t)
	rounds := 0
	var over atomic.Bool
	visitAll(waiters, tags, &over, s.NewClient(t), s.NewClient(t))
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
		rounds++
	}
	over.Store(true)
	t.Logf("%d slots have moved", rounds)
	t.Logf("%d had their locks", len(waiters.Served(t)))
	for _, tag := range tags {
		wantOnlyGuards(t, s, tag)
	}
}
