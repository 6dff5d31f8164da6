package quorum

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// Goroutines that have nothing to do go after a while, those that are used stay, and Close sends everybody away.
func TestCrew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
		defer rdb.Close()
		c, err := New([]*redislock.Client{redislock.New(rdb)})
		if err != nil {
			t.Fatal(err)
		}
		ran := make(chan struct{}, 10)
		run := func(n int) {
			t.Helper()
			for range n {
				c.spawn(func() {
					time.Sleep(time.Millisecond) // so that all run at once
					ran <- struct{}{}
				})
			}
			for range n {
				<-ran
			}
			synctest.Wait()
		}
		want := func(n int) {
			t.Helper()
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.idle) != n {
				t.Errorf("%d goroutines are idle, want %d", len(c.idle), n)
			}
		}
		run(5)
		want(5)
		idle := func() []chan *errand {
			c.mu.Lock()
			defer c.mu.Unlock()
			return slices.Clone(c.idle)
		}
		used := idle()[3:]
		for range 10 {
			time.Sleep(linger / 3)
			run(2)
		}
		want(2)
		for _, errands := range idle() {
			if !slices.Contains(used, errands) {
				t.Error("a goroutine that was used has gone")
			}
		}
		time.Sleep(2*linger + time.Millisecond)
		want(0)
		run(3)
		want(3)
		c.Close()
		synctest.Wait()
		want(0)
		run(2) // locks may be released still
		want(0)
	})
}

// The timer may have fired, and wait for the mutex, while Close sends everybody away. It then closed channels that were gone.
func TestDismissAfterClose(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	node := redislock.New(rdb)
	defer node.Close()
	c, err := New([]*redislock.Client{node})
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.idle, c.spare = []chan *errand{make(chan *errand, 1), make(chan *errand, 1)}, 2
	c.mu.Unlock()
	c.Close()
	c.dismiss()
	if len(c.idle) != 0 || c.armed {
		t.Errorf("%d are idle, the timer runs: %t; want none, and no timer", len(c.idle), c.armed)
	}
}
