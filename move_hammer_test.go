package redislock_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// visit has its caller wait for the locks with a strategy, hold them for a moment, and release them.
func (c *throng) visit(client *redislock.Client, who string, write, read []string) {
	c.visitWith(client, who, write, read, &redislock.Options{RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond)})
}

func (c *throng) visitWith(client *redislock.Client, who string, write, read []string, opt *redislock.Options) {
	lock, err := client.ObtainMixed(c.ctx, write, read, long, opt)
	if err == nil {
		leave := c.hold(who, write, read)
		time.Sleep(time.Millisecond)
		err = lock.Refresh(c.ctx, long)
		leave()
		err = errors.Join(err, lock.Release(c.ctx))
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults = append(c.faults, fmt.Errorf("%s: %w", who, err))
	}
}

// crowd has the clients visit two keys of each tag, to write, read or both, until it is over.
func (c *throng) crowd(tags []string, over *atomic.Bool, clients ...*redislock.Client) {
	for n, client := range clients {
		for g := range 4 * len(tags) {
			c.wg.Go(func() {
				tag := tags[g%len(tags)]
				keys := []string{tag + "a", tag + "b"}
				write := []int{2, 2, 0, 1}[g/len(tags)]
				for i := 0; !over.Load() && c.ctx.Err() == nil; i++ {
					c.visit(client, fmt.Sprintf("%s:%d:%d:%d", tag, n, g, i), keys[:write], keys[write:])
				}
			})
		}
	}
}

// Many take locks at all servers while slots move to and fro: nobody is refused for it, and no two
// have what only one may have.
func TestMovingSlotsHammer(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	tags := s.tags(t, 2, s.Nodes()...)
	throng := newThrong(t)
	rounds := 0
	var over atomic.Bool
	throng.crowd(tags, &over, s.client(t), s.client(t))
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
	t.Logf("%d had their locks", len(throng.served(t)))
	for _, tag := range tags {
		s.wantGone(t, tag)
	}
}
