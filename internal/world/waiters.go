package world

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// Waiters are many waiters for locks, and what is seen of them: in which order they had the locks, and whether two had
// something at the same time that only one may have.
type Waiters struct {
	Ctx context.Context
	WG  sync.WaitGroup // of the waiters

	mu      sync.Mutex        // guards all below
	writers map[string]string // key → its writer
	readers map[string]int    // key → its number of readers
	order   []string
	faults  []error
}

// NewWaiters makes a set of waiters, which give up if nothing moves any more.
func NewWaiters(t *testing.T) *Waiters {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return &Waiters{Ctx: ctx, writers: make(map[string]string), readers: make(map[string]int)}
}

// Apart has the waiters stand in Redis by themselves, see the function Apart.
func (c *Waiters) Apart() *Waiters {
	c.Ctx = Apart(c.Ctx)
	return c
}

// Hold notes that a waiter has its locks. The caller calls leave before it releases them.
func (c *Waiters) Hold(who string, write, read []string) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = append(c.order, who)
	for _, key := range write {
		if other, held := c.writers[key]; held || c.readers[key] > 0 {
			c.faults = append(c.faults, fmt.Errorf("%s writes %q, which %q writes and %d read", who, key, other, c.readers[key]))
		}
		c.writers[key] = who
	}
	for _, key := range read {
		if other, held := c.writers[key]; held {
			c.faults = append(c.faults, fmt.Errorf("%s reads %q, which %s writes", who, key, other))
		}
		c.readers[key]++
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, key := range write {
			delete(c.writers, key)
		}
		for _, key := range read {
			c.readers[key]--
		}
	}
}

// Turn waits in line, holds the locks for a moment, and releases them.
func (c *Waiters) Turn(client *redislock.Client, who string, write, read []string) {
	c.turn(c.Ctx, client, who, write, read)
}

func (c *Waiters) turn(ctx context.Context, client *redislock.Client, who string, write, read []string) {
	opt := Queue()
	opt.Metadata = who
	lock, err := client.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, Long, opt)
	if err == nil {
		leave := c.Hold(who, write, read)
		time.Sleep(time.Millisecond)
		leave()
		err = lock.Release(c.Ctx)
	}
	c.Note(who, err)
}

// Note notes an error of a waiter. It ignores nil.
func (c *Waiters) Note(who string, err error) {
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults = append(c.faults, fmt.Errorf("%s: %w", who, err))
	}
}

// Failed counts the errors until now.
func (c *Waiters) Failed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.faults)
}

// Line has n waiters stand in line for a set, one after the other, of each Client in turn, and each by itself. It returns
// their names in the order of the line.
func (c *Waiters) Line(t *testing.T, n int, set []string, clients ...*redislock.Client) []string {
	t.Helper()
	var names []string
	for i := range n {
		client, who := clients[i%len(clients)], fmt.Sprintf("%s#%02d", set[0], i)
		names = append(names, who)
		c.WG.Go(func() { c.turn(Apart(c.Ctx), client, who, set, nil) })
		(&World{Client: client}).InLine(t, set[0], i+1)
	}
	return names
}

// Served waits until all have had their locks, checks that nothing went wrong, and returns the order.
func (c *Waiters) Served(t *testing.T) []string {
	t.Helper()
	c.WG.Wait()
	for _, err := range c.faults {
		t.Error(err)
	}
	return c.order
}

// WantNotified checks that the waiters got messages when it was their turn: a waiter without a message asks again
// after some 5 s.
func WantNotified(t *testing.T, watch *check.Stopwatch) {
	t.Helper()
	if took := watch.Took(); took > Soon {
		t.Errorf("it took %v, so they asked by themselves, and got no message", took)
	}
}

// WantOrder checks in which order waiters had their locks.
func WantOrder(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got order %q, want %q", got, want)
	}
}
