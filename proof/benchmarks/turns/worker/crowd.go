package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock/internal/turns"
	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
)

// A crowd is callers who want one key.
type crowd struct {
	order  task.Order
	take   take
	came   atomic.Int64
	over   atomic.Bool
	close  func()
	all    sync.WaitGroup
	failed atomic.Pointer[error]
	each   []caller
	empty  uint64 // the memory in use before anybody had come, if it is to be light
}

// A caller is one of a crowd.
type caller struct {
	turns.Caller
	_ [64]byte // so that two callers do not share a line of the cache
}

// A take obtains a key, and returns how to free it.
type take func(ctx context.Context, key string) (free, error)

type free func(context.Context) error

// gather starts a crowd.
func gather(order task.Order) (*crowd, error) {
	c := &crowd{order: order, each: make([]caller, order.Callers)}
	var err error
	if c.take, c.close, err = taking(order); err != nil {
		return nil, err
	}
	obtain, use := c.obtain, c.use // once: a waiter is to be weighed without what is made for its caller
	come := func() { c.stay(obtain, use) }
	if order.Light {
		c.empty = heap()
	}
	for range c.each {
		c.all.Go(come)
	}
	return c, nil
}

// stay has the next caller have turns until the crowd is to part. The context has no end, because a call that may be given up
// costs more.
func (c *crowd) stay(obtain func(context.Context) (free, error), use func(free) error) {
	who := &c.each[c.came.Add(1)-1].Caller
	for !c.over.Load() {
		if err := turns.Try(context.Background(), who, obtain, use); err != nil {
			c.failed.CompareAndSwap(nil, &err)
			return
		}
	}
}

func (c *crowd) obtain(ctx context.Context) (free, error) { return c.take(ctx, c.order.Key) }

// use holds what was obtained, and frees it.
func (c *crowd) use(free free) error {
	if c.order.Hold > 0 {
		time.Sleep(c.order.Hold)
	}
	return free(context.Background())
}

// read says what the crowd has done.
func (c *crowd) read() (r task.Reading, err error) {
	if failed := c.failed.Load(); failed != nil {
		return r, fmt.Errorf("%s: %w", c.order.Way, *failed)
	}
	for i := range c.each {
		r.Enter(c.each[i].Read())
	}
	return r, used(&r)
}

// part has a crowd go when each has had one more turn, and returns when all have.
func (c *crowd) part() error {
	c.over.Store(true)
	c.all.Wait()
	c.close()
	if failed := c.failed.Load(); failed != nil {
		return fmt.Errorf("%s: %w", c.order.Way, *failed)
	}
	return nil
}
