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

// A Bound is how long a call lasts if nobody answers. The zero Bound leaves that to the Redis client.
type Bound struct {
	within time.Duration
	inline bool // the Redis client keeps it by itself, once it has a connection
}

// timeouts are the time-outs of a Redis client: 0 or less if it does not have them.
type timeouts struct {
	read, write time.Duration
	exact       bool // it is a client of go-redis, which certainly keeps them
}

// Bound returns the bound of a call with so many keys, for an answer that is of no use after some time. An answer may
// take one read time-out, even if that is more. So the caller waits for that long. If it does the sending itself, the
// read and the write have to end by then.
func (conn *Conn) Bound(useful time.Duration, keys int) Bound {
	t := conn.timeouts
	if t.read <= 0 {
		return Bound{within: max(useful, readTimeout)}
	}
	b := Bound{within: max(useful, t.read)}
	// A request that is not large fits into the buffer of a connection, so that writing takes no time.
	b.inline = t.exact && t.write > 0 && (t.write+t.read <= b.within || t.write <= b.within && keys <= plainKeys)
	return b
}

// timeoutsOf returns the time-outs of a Redis client. A client with its own Eval may embed one that is nil.
func timeoutsOf(rdb redis.Scripter) (t timeouts) {
	defer func() { _ = recover() }()
	t.exact = IsGoRedis(rdb)
	switch rdb := rdb.(type) {
	case interface{ Options() *redis.Options }:
		t.read, t.write = rdb.Options().ReadTimeout, rdb.Options().WriteTimeout
	case interface{ Options() *redis.ClusterOptions }:
		t.read, t.write = rdb.Options().ReadTimeout, rdb.Options().WriteTimeout
	case interface{ Options() *redis.RingOptions }: // its shards fill in the defaults
		if t.read = rdb.Options().ReadTimeout; t.read == 0 {
			t.read = readTimeout
		}
		if t.write = rdb.Options().WriteTimeout; t.write == 0 {
			t.write = t.read
		}
	}
	return t
}

// An End is how a call has ended for its caller.
type End int

const (
	// Settled says that the outcome is there.
	Settled End = iota
	// Ended says that the context has ended, and patience has run out.
	Ended
	// Silent says that nobody has answered in time.
	Silent
)

// Send sends a call and waits for its outcome, patience longer than ctx. If it returns another end than Settled, the
// caller has to abandon the call.
func (conn *Conn) Send(ctx context.Context, c *Call, b Bound, patience time.Duration) End {
	conn.allow(c)
	c.Bounded = b.within > 0
	endless := ctx.Done() == nil
	stays := !endless && conn.mayStay(ctx)
	inline := endless || stays
	if c.Bounded {
		inline = inline && b.inline && c.Replicas.Wanted == 0
	} else {
		c.stays = stays
	}
	conn.send(c, inline)
	if c.Bounded && c.Began == (clock.Moment{}) {
		c.Began = clock.Now() // another goroutine does the sending
	}
	if c.byCaller {
		return Settled
	}
	return conn.await(ctx, c, b.within, patience)
}

// await waits for the outcome of a call, patience longer than ctx. A bounded call ends within some time of its
// beginning if nobody answers.
func (conn *Conn) await(ctx context.Context, c *Call, within, patience time.Duration) End {
	var t *timeout
	if c.Bounded {
		t = c.limited()
		defer t.clear()
		t.set(nil, c, c.Began.Mono+within)
	}
	for {
		if ctx.Done() == nil { // a plain receive is much cheaper
			<-c.done
		} else {
			select {
			case <-c.done:
			case <-ctx.Done():
				return conn.waitLonger(ctx, c, patience)
			}
		}
		if c.fate.Load() == taken {
			return Settled
		}
		if t == nil || !t.isOver() {
			continue // the channel has told of a call or a time before
		}
		// A server with a reason answers. A server with a slot that moves does, too, but much later.
		if more := c.maySayNothing(within); more > 0 {
			t.set(nil, c, clock.Now().Mono+more)
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
func (conn *Conn) waitLonger(ctx context.Context, c *Call, patience time.Duration) End {
	c.Gone = clock.Now()
	if c.halt(ctx, waitingForSlot) {
		return Settled
	}
	t := c.limited()
	defer t.clear()
	if c.settles(t, c.Gone.Mono+patience/2) {
		return Settled
	}
	c.endConnecting(errGone)
	if c.settles(t, c.Gone.Mono+patience) || c.halt(ctx, waitingForSlot) || c.halt(ctx, pausing) {
		return Settled
	}
	return Ended
}

// settles waits for the outcome until then, and reports whether it is there.
func (c *Call) settles(t *timeout, until time.Duration) bool {
	for t.set(nil, c, until); c.fate.Load() != taken; <-c.done {
		if t.isOver() {
			return false
		}
	}
	return true
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
	t := conn.timeouts
	return t.exact && t.write > 0 && 0 < t.read && t.read <= s.most
}

// Enter has Drain wait for what a staying caller does after its calls, too. It ends with Exit.
func (conn *Conn) Enter() { conn.under.Add(1) }

// Exit ends what Enter has begun.
func (conn *Conn) Exit() { conn.finished() }
