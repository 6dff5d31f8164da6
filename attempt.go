package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
)

// This file is one attempt of an obtaining: a call of the script, and what is made of the answer.

// mostLate is how many answers to who stands in line may come too late, one after the other, before
// it gives up: a ttl that is shorter than the way to the server is of no use.
const mostLate = 3

// waits is the code of the reply to who stands in line now.
const waits = -2

// ask asks once. If others of the token have overtaken that it asks again, behind them.
func (o *obtaining) ask(ctx context.Context, wait time.Duration) (*Lock, error) {
	o.asked++
	for rounds := 0; ; rounds++ {
		c := o.call(ctx, wait)
		c.owner, c.effect = o.owner, takes
		if o.claim != nil && o.set.reads() > 0 {
			c.reads, c.since = true, o.claim.since
			c.yield = func() { c.keeps = true }
		}
		c.numbered, c.ack = o.fenced, newAck(o.replicas, o.ttl)
		if o.place.number != "" {
			c.rides = -1 // who stands in line asks again by himself
		}
		if err := o.send(ctx, c); err != nil {
			return nil, err
		}
		if isOvertaken(c) && ctx.Err() == nil && rounds < mostOvertaken {
			continue
		}
		return o.take(ctx, c, wait)
	}
}

// send sends a call, and returns why there is no outcome.
func (o *obtaining) send(ctx context.Context, c *call) error {
	switch o.await(ctx, c) {
	case hung:
		return o.unanswered(c)
	case called:
		if c.leave(nil) {
			o.doubts()
			return &endedError{o.beside(fmt.Errorf("redislock: obtain %s: %w: %w after %s and %s",
				o.set, ErrUnknownOutcome, context.Cause(ctx), round(clock.Now().Since(o.began)), count.Of(o.asked, "attempt")), c)}
		}
	case settled:
	}
	return nil
}

// take takes in the outcome of a call.
func (o *obtaining) take(ctx context.Context, c *call, wait time.Duration) (*Lock, error) {
	if c.isUnsure() || c.err != nil && classify(c.err) == unknown {
		o.doubts()
	}
	if err := c.err; err != nil {
		o.partly = o.partly || classify(err) == final && !redis.HasErrorPrefix(err, "CROSSSLOT") // which ran nothing
		cut := c.cut != nil
		c.cut = nil
		if err = fault("obtain", o.set, c); cut {
			o.last = err
			return nil, o.ended(ctx)
		}
		return nil, err
	}
	if isOvertaken(c) && ctx.Err() != nil {
		o.goes()
		return nil, o.ended(ctx)
	}
	code, rest, err := c.code()
	d := decoder{reply: rest}
	var number int64
	if code == 1 && o.fenced {
		number = d.number()
		d.bad = d.bad || number <= 0
	}
	switch {
	case err == nil && code == 1 && !d.bad && c.ack.short() != nil:
		o.partly = true
		return nil, fmt.Errorf("redislock: obtain %s: %w: %w", o.set, ErrNotObtained, c.ack.short())
	case err == nil && code == 1 && !d.bad:
		sent := c.sent
		o.client.transport.recycle(c)
		return o.obtained(ctx, sent, number)
	case err == nil && code != 1:
		o.declared = o.declares && wait >= 0
		err = o.refused(c, code, d)
	default:
		err = c.garbled()
	}
	if err != nil {
		o.doubts() // whoever has answered so may have done anything
		return nil, fmt.Errorf("redislock: obtain %s: %w: %w", o.set, ErrUnknownOutcome, err)
	}
	return nil, o.conflict
}

// call prepares the script that takes the set: obtain.lua if it has write keys only.
func (o *obtaining) call(ctx context.Context, wait time.Duration) *call {
	intent := ""
	if o.declares {
		intent = "0"
		if wait >= 0 {
			intent = strconv.FormatInt(clock.Millis(min(wait, maxTTL)+intentGrace), 10)
			o.declared = true
		}
	}
	switch beside := o.set.beside(); {
	case o.hears || o.place.number != "":
		return o.callInLine(ctx, beside)
	case o.set.reads() > 0 || o.fenced || o.minUptime > 0:
		return newCall(ctx, rwScript, o.set.keys, append(beside, o.intents...),
			&o.value, clock.Millis(o.ttl), o.set.write, o.set.reads(), intent, flag(o.fenced), clock.Millis(o.minUptime))
	case o.declares:
		return newCall(ctx, obtainScript, o.set.keys, append(beside, o.intents...),
			&o.value, clock.Millis(o.ttl), intent)
	}
	c := o.client.transport.newCall(ctx, obtainScript, o.set, &o.value, clock.Millis(o.ttl))
	c.plain = o.conflict == nil // who was refused will most likely be again, and wants to know by whom
	return c
}

// callInLine prepares the script that takes the set or has the waiter stand in line.
func (o *obtaining) callInLine(ctx context.Context, beside []string) *call {
	number, kind := o.place.number, "p"
	if o.client.listeners.shards {
		kind = "s"
	}
	c := newCall(ctx, rwScript, o.set.keys, beside,
		&o.value, clock.Millis(o.ttl), o.set.write, o.set.reads(), "", flag(o.fenced), clock.Millis(o.minUptime),
		o.place.id, &number, int64(waiterLife/time.Millisecond), kind, o.waiter.channel)
	c.resent = func() {
		if number == "" {
			number = unknownPlace
		}
	}
	c.plain = number == "" && o.set.reads() == 0 && !o.fenced && o.minUptime == 0 && !o.client.listeners.busy(o.set.keys[0], o.waiter)
	return c
}

// obtained makes the lock, unless the answer came too late for it or for the caller.
func (o *obtaining) obtained(ctx context.Context, sent clock.Moment, number int64) (*Lock, error) {
	o.declared = false
	deadline := sent.Add(clock.Window(o.ttl))
	if at := clock.Now(); at.Reached(deadline) {
		o.partly = true
		err := fmt.Errorf("redislock: obtain %s: %w: the answer took %s, which leaves nothing of a ttl of %s; released",
			o.set, ErrNotObtained, round(at.Since(sent)), o.ttl)
		if o.late++; o.queues && o.late <= mostLate {
			o.hint = 0 // the keys are most likely still its own
			return nil, err
		}
		return nil, &endedError{err}
	}
	if ctx.Err() != nil {
		o.goes()
		o.partly = true
		o.last = ErrNotObtained // it is given back
		return nil, o.ended(ctx)
	}
	l := o.lock
	l.mu.Lock()
	l.set, l.ttl, l.counted, l.longest = o.set, o.ttl, o.ttl, o.ttl
	l.obtained, l.deadline = sent, deadline
	l.number, l.replicas = number, o.replicas
	l.mu.Unlock()
	if o.watchdog {
		l.mu.Lock()
		l.watchLocked(true)
		l.mu.Unlock()
	}
	return l, nil
}

// refused decodes a refusal, and the place in line of who now stands there.
func (o *obtaining) refused(c *call, code int64, d decoder) error {
	conflict, err := decodeConflict(o.set.keys, &d)
	if err == nil && code == waits {
		err = o.placed(c.sent, &d)
	}
	if err != nil || len(d.reply) > 0 {
		return errors.Join(c.garbled(), err)
	}
	o.conflict = conflict
	if conflict.Mode == ModeRestarted {
		o.hint = conflict.TTL + leaseOver
	}
	return nil
}

// placed takes in the place in line that a script has given to the waiter, or found.
func (o *obtaining) placed(sent clock.Moment, d *decoder) error {
	number, micros, ms, heard := d.number(), d.number(), d.number(), d.number()
	if d.bad {
		return errors.New("no place in line")
	}
	o.place.number = strconv.FormatInt(number, 10)
	o.place.asked, o.place.micros = sent, micros
	if ms >= 0 {
		o.hint = clock.FromMillis(ms) + leaseOver
	}
	if heard == 1 {
		o.faults = 0
	} else if o.hears {
		o.client.listeners.deaf(o.waiter)
		o.faults++
		o.rejoin = clock.Now().Add(pauseAfter(o.faults))
		o.hears = false
	}
	return nil
}
