package wire

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// This file says how long a call lasts if nobody answers.

// readTimeout is for a Redis client that has none, or does not say: the default of go-redis.
const readTimeout = 5 * time.Second

// A Bound is how long a call lasts if nobody answers.
type Bound struct {
	within time.Duration
	inline bool // the Redis client keeps it by itself, once it has a connection
}

// Bound returns the bound of a call with so many keys, for an answer that is of no use after some time. An answer may
// take one read time-out, even if that is more. So the caller waits for that long. If it does the sending itself, the
// read and the write have to end by then.
func (conn *Conn) Bound(useful time.Duration, keys int) Bound {
	read, write, exact := timeouts(conn.rdb)
	if read <= 0 {
		return Bound{within: max(useful, readTimeout)}
	}
	b := Bound{within: max(useful, read)}
	// A request that is not large fits into the buffer of a connection, so that writing takes no time.
	b.inline = exact && write > 0 && (write+read <= b.within || write <= b.within && keys <= plainKeys)
	return b
}

// timeouts returns the time-outs of a Redis client, 0 or less if it does not have them. It also reports whether it is a
// client of go-redis, which certainly keeps them.
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
	return read, write, IsGoRedis(rdb)
}

// An End is how a bounded call has ended for its caller.
type End int

const (
	// Settled says that the outcome is there.
	Settled End = iota
	// Ended says that the context has ended, and patience has run out.
	Ended
	// Silent says that nobody has answered in time.
	Silent
)

// DoWithin sends a call and waits for its outcome, patience longer than ctx. If it returns another end than Settled,
// the caller has to abandon the call.
func (conn *Conn) DoWithin(ctx context.Context, c *Call, b Bound, patience time.Duration) End {
	c.Bounded = true
	began := clock.Now()
	conn.allow(c)
	conn.send(c, b.inline && c.Replicas.Wanted == 0 && (conn.mayStay(ctx) || ctx.Done() == nil))
	select {
	case <-c.done:
		return Settled
	default:
	}
	alarm := c.alarmAfter(clock.Now().Until(began.Add(b.within)))
	defer alarm.Stop()
	for {
		select {
		case <-c.done:
			return Settled
		case <-ctx.Done():
			c.Gone = clock.Now()
			if c.halt(ctx, waitingForSlot) {
				return Settled
			}
			return c.waitLonger(ctx, alarm, patience)
		case <-alarm.C:
		}
		// A server with a reason answers. A server with a slot that moves does, too, but much later.
		if more := c.maySayNothing(b.within); more > 0 {
			alarm.Reset(more)
			continue
		}
		if c.halt(ctx, pausing) {
			c.Silent = true
			return Settled // as its last try says
		}
		return Silent
	}
}

// waitLonger waits for the outcome after ctx has ended. If half of the time has brought no connection it stops waiting
// for one, so that it is known that the request was not sent: see ErrNotSent.
func (c *Call) waitLonger(ctx context.Context, alarm *time.Timer, patience time.Duration) End {
	alarm.Reset(patience / 2)
	select {
	case <-c.done:
		return Settled
	case <-alarm.C:
		c.endConnecting(errGone)
		alarm.Reset(patience / 2)
	}
	select {
	case <-c.done:
		return Settled
	case <-alarm.C:
		if c.halt(ctx, waitingForSlot) || c.halt(ctx, pausing) {
			return Settled
		}
		return Ended
	}
}

// alarmAfter sets the alarm of a call.
func (c *Call) alarmAfter(after time.Duration) *time.Timer {
	if c.alarm == nil {
		c.alarm = time.NewTimer(after)
	} else {
		c.alarm.Reset(after)
	}
	return c.alarm
}

// maySayNothing returns how much longer the server may say nothing, up to most.
func (c *Call) maySayNothing(most time.Duration) time.Duration {
	if c.fate.Load() == waitingForSlot {
		return most
	}
	heard := time.Duration(c.heard.Load())
	if heard == 0 {
		return 0
	}
	return heard + most - clock.Now().Mono
}

// A staying context has a caller on a goroutine that nobody waits for.
type staying struct {
	context.Context
	most time.Duration
}

// Stay marks the context of a caller on a goroutine that nobody waits for when the context has ended. Such a caller
// need not abandon its call. So it may do the sending itself, and stay until the Redis client gives up, if that waits
// for an answer no longer than most. The context must be passed on as it is.
func Stay(ctx context.Context, most time.Duration) context.Context { return &staying{ctx, most} }

// IsStaying reports whether a context is marked so.
func IsStaying(ctx context.Context) bool {
	_, ok := ctx.(*staying)
	return ok
}

// mayStay reports whether a context is marked so, and the Redis client gives up soon enough.
func (conn *Conn) mayStay(ctx context.Context) bool {
	s, ok := ctx.(*staying)
	if !ok {
		return false
	}
	read, write, exact := timeouts(conn.rdb)
	return exact && write > 0 && 0 < read && read <= s.most
}

// Enter has Drain wait for what a staying caller does after its calls, too. It ends with Exit.
func (conn *Conn) Enter() { conn.under.Add(1) }

// Exit ends what Enter has begun.
func (conn *Conn) Exit() { conn.finished() }
