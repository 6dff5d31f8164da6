package redislock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
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
		c.ownedBy(o.owner, owners.Takes, o.client.conn, o.set.lines[0])
		if o.claim != nil && o.set.reads() > 0 {
			c.own.Reads, c.own.Since = true, o.claim.Since()
			c.yield = func() { c.keeps = true }
		}
		c.Replicas = replicasFor(o.replicas, o.ttl)
		if o.place.number != "" {
			c.WaitForSlot = -1 // who stands in line asks again by himself
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
	o.silent = false
	conn := o.client.conn
	end := conn.DoWithin(ctx, &c.Call, conn.Bound(o.ttl, len(o.set.keys)), o.patience())
	if c.Gone != (clock.Moment{}) && o.gone == (clock.Moment{}) {
		o.gone = c.Gone
	}
	o.silent = end == wire.Silent || c.Silent
	switch end {
	case wire.Silent:
		return o.unanswered(c)
	case wire.Ended:
		if c.Leave(nil) {
			o.doubts()
			return &endedError{o.beside(fmt.Errorf("redislock: obtain %s: %w: %w after %s and %s",
				o.set, ErrUnknownOutcome, context.Cause(ctx), round(clock.Now().Since(o.began)), count.Of(o.asked, "attempt")), c)}
		}
	case wire.Settled:
	}
	return nil
}

// take takes in the outcome of a call.
func (o *obtaining) take(ctx context.Context, c *call, wait time.Duration) (*Lock, error) {
	if c.IsUnanswered() || c.Err != nil && wire.Classify(c.Err) == wire.Unknown {
		o.doubts()
	}
	if err := c.Err; err != nil {
		o.partly = o.partly || wire.Classify(err) == wire.Final && !redis.HasErrorPrefix(err, "CROSSSLOT") // which ran nothing
		cut := c.Cut != nil
		c.Cut = nil
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
	code, rest, err := c.code(o.fenced)
	d := wire.Reply{Rest: rest}
	var number int64
	if code == 1 && o.fenced {
		number = d.Number()
		d.Bad = d.Bad || number <= 0
	}
	switch {
	case err == nil && code == 1 && !d.Bad && c.short() != nil:
		o.partly = true
		return nil, fmt.Errorf("redislock: obtain %s: %w: %w", o.set, ErrNotObtained, c.short())
	case err == nil && code == 1 && !d.Bad:
		sent := c.Sent
		o.client.recycle(c)
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
	c := o.client.newCall(ctx, obtainScript, o.set, &o.value, clock.Millis(o.ttl))
	c.Plain = o.conflict == nil // who was refused will most likely be again, and wants to know by whom
	return c
}

// callInLine prepares the script that takes the set or has the waiter stand in line.
func (o *obtaining) callInLine(ctx context.Context, beside []string) *call {
	number, kind := o.place.number, "p"
	if o.client.hub.Sharded() {
		kind = "s"
	}
	c := newCall(ctx, rwScript, o.set.keys, beside,
		&o.value, clock.Millis(o.ttl), o.set.write, o.set.reads(), "", flag(o.fenced), clock.Millis(o.minUptime),
		o.place.id, &number, int64(waiterLife/time.Millisecond), kind, o.waiter.Channel)
	c.Resent = func() {
		if number == "" {
			number = unknownPlace
		}
	}
	c.Plain = number == "" && o.set.reads() == 0 && !o.fenced && o.minUptime == 0 && !o.waiter.Others()
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
func (o *obtaining) refused(c *call, code int64, d wire.Reply) error {
	conflict, err := decodeConflict(o.set.keys, &d)
	if err == nil && code == waits {
		err = o.placed(c.Sent, &d)
	}
	if err != nil || len(d.Rest) > 0 {
		return errors.Join(c.garbled(), err)
	}
	o.conflict = conflict
	if conflict.Mode == ModeRestarted {
		o.hint = conflict.TTL + leaseOver
	}
	return nil
}

// placed takes in the place in line that a script has given to the waiter, or found.
func (o *obtaining) placed(sent clock.Moment, d *wire.Reply) error {
	number, micros, ms, heard := d.Number(), d.Number(), d.Number(), d.Number()
	if d.Bad {
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
		o.waiter.NotHeard()
		o.faults++
		o.rejoin = clock.Now().Add(pauseAfter(o.faults))
		o.hears = false
	}
	return nil
}

// unanswered ends an attempt to which nobody has answered. What its call may still do the next one closes, or
// the clean-up. It returns nil if the answer has come in this very moment.
func (o *obtaining) unanswered(c *call) error {
	if !c.Leave(nil) {
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
	if failed := c.Failed(); failed != nil {
		before = wire.Legible(failed)
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
