package redislock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// This file is how long an attempt lasts to which nobody answers, and what becomes of its call then.

// readTimeout is that of a Redis client that has none, or does not say: the default of go-redis.
const readTimeout = 5 * time.Second

// A bound is how long an attempt lasts to which nobody answers.
type bound struct {
	within time.Duration
	inline bool // the Redis client keeps it by itself, once it has a connection
}

// newBound returns the bound of an attempt to lock so many keys for ttl: a grant that comes after the
// ttl is of no use, and an answer may take one read time-out. So that is how long the caller waits, and
// if it does the sending itself the read and the write have to end by then.
func newBound(rdb redis.Scripter, ttl time.Duration, keys int) bound {
	read, write, exact := timeouts(rdb)
	if read <= 0 {
		return bound{within: max(ttl, readTimeout)}
	}
	b := bound{within: max(ttl, read)}
	// A request that is not large fits into the buffer of a connection, so that writing takes no time.
	b.inline = exact && write > 0 && (write+read <= b.within || write <= b.within && keys <= plainKeys)
	return b
}

// timeouts returns those of a Redis client, 0 or less for those that it does not have, and whether it is
// one of go-redis, of which it is known that they are kept.
func timeouts(rdb redis.Scripter) (read, write time.Duration, exact bool) {
	switch rdb := rdb.(type) {
	case interface{ Options() *redis.Options }:
		read, write = rdb.Options().ReadTimeout, rdb.Options().WriteTimeout
	case interface{ Options() *redis.ClusterOptions }:
		read, write = rdb.Options().ReadTimeout, rdb.Options().WriteTimeout
	case interface{ Options() *redis.RingOptions }: // its shards fill in the defaults
		if read = rdb.Options().ReadTimeout; read == 0 {
			read = readTimeout
		}
		if write = rdb.Options().WriteTimeout; write == 0 {
			write = read
		}
	}
	return read, write, isPlain(rdb)
}

// An end is how an attempt has ended for the one who waits for it.
type end int

const (
	settled end = iota // the outcome is there
	called             // its ctx has ended, and patience has run out
	hung               // nobody has answered in time
)

// await sends a call and waits for its outcome. If it returns another end than settled the caller has to
// leave the call.
func (o *obtaining) await(ctx context.Context, c *call) end {
	t, b := o.client.transport, newBound(o.client.transport.rdb, o.ttl, len(o.set.keys))
	c.bounded, o.silent = true, false
	began := clock.Now()
	t.allow(c)
	t.send(c, ctx.Done() == nil && b.inline && c.ack.wanted == 0)
	select {
	case <-c.done:
		return settled
	default:
	}
	alarm := c.wakes(clock.Now().Until(began.Add(b.within)))
	defer alarm.Stop()
	for {
		select {
		case <-c.done:
			return settled
		case <-ctx.Done():
			o.goes()
			if c.halt(ctx, riding) {
				return settled
			}
			return c.linger(ctx, alarm, o.patience())
		case <-alarm.C:
		}
		// A server that has its reasons answers. So does one whose slot moves, for much longer.
		if more := c.silence(b.within); more > 0 {
			alarm.Reset(more)
			continue
		}
		o.silent = true
		if c.halt(ctx, resting) {
			return settled // as its last try says
		}
		return hung
	}
}

// linger waits a little longer for a caller whose ctx has ended.
func (c *call) linger(ctx context.Context, alarm *time.Timer, patience time.Duration) end {
	alarm.Reset(patience)
	select {
	case <-c.done:
		return settled
	case <-alarm.C:
		if c.halt(ctx, riding) || c.halt(ctx, resting) {
			return settled
		}
		return called
	}
}

// wakes sets the alarm of a call.
func (c *call) wakes(after time.Duration) *time.Timer {
	if c.alarm == nil {
		c.alarm = time.NewTimer(after)
	} else {
		c.alarm.Reset(after)
	}
	return c.alarm
}

// silence returns how much longer the server may say nothing, if it may so for some time at most.
func (c *call) silence(most time.Duration) time.Duration {
	if c.fate.Load() == riding {
		return most
	}
	heard := time.Duration(c.heard.Load())
	if heard == 0 {
		return 0
	}
	return heard + most - clock.Now().Mono
}

// unanswered ends an attempt to which nobody has answered. What its call may still do the next one closes, or
// the clean-up. It returns nil if the answer has come in this very moment.
func (o *obtaining) unanswered(c *call) error {
	if !c.leave(nil) {
		return nil
	}
	o.doubts()
	err := fmt.Errorf("redislock: obtain %s: %w: no answer for %s: %w",
		o.set, ErrUnknownOutcome, round(clock.Now().Since(o.began)), os.ErrDeadlineExceeded)
	return o.beside(err, c)
}

// beside adds to an error why the try before has failed, if there was one that was no refusal: what is
// wrong with the server, for example that it takes no connections.
func (o *obtaining) beside(err error, c *call) error {
	var before error
	if failed := c.failed.Load(); failed != nil {
		before = legibly(*failed)
	} else if !errors.Is(o.last, ErrNotObtained) {
		before = o.last
	}
	if before == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, before)
}

// goes takes note that ctx has ended.
func (o *obtaining) goes() {
	if o.gone == (clock.Moment{}) {
		o.gone = clock.Now()
	}
}

// patience is how much longer an Obtain may take whose ctx has ended, and how long it waits, if it has
// not, for what it leaves behind.
func (o *obtaining) patience() time.Duration {
	switch {
	case o.gone != (clock.Moment{}):
		return clock.Now().Until(o.gone.Add(patience))
	case o.silent:
		return 0 // it has waited for that server long enough
	}
	return patience
}
