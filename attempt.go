package redislock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/shown"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file is one attempt of an obtaining: how obtain.lua and rw.lua are called, what they answer, and what
// is made of the answer.

//go:embed obtain.lua
var obtainLua string

//go:embed rw.lua
var rwLua string

var (
	obtainScript = newScript("obtain", obtainLua)
	rwScript     = newScript("rw", rwLua)
)

// callObtain calls obtain.lua, which takes a set of write keys. The intents of who declares any live so long.
func (c *Client) callObtain(ctx context.Context, w *want, intent time.Duration) *call {
	if !w.declares {
		return c.newCall(ctx, obtainScript, w.set, &w.value, clock.Millis(w.ttl))
	}
	return newCall(ctx, obtainScript, w.set.keys, append(w.set.beside(), w.intents...),
		&w.value, clock.Millis(w.ttl), w.intentArgument(intent))
}

// callRW calls rw.lua, which takes any set. If s is not nil the Obtain stands in line if it has to, and has no
// intents.
func callRW(ctx context.Context, w *want, intent time.Duration, s *standing) *call {
	if s == nil {
		return newCall(ctx, rwScript, w.set.keys, append(w.set.beside(), w.intents...), &w.value, clock.Millis(w.ttl),
			w.set.write, w.set.reads(), w.intentArgument(intent), flag(w.fenced), clock.Millis(w.minUptime))
	}
	at, channel := s.place.argument(), "p"
	if s.sharded {
		channel = "s"
	}
	c := newCall(ctx, rwScript, w.set.keys, w.set.beside(), &w.value, clock.Millis(w.ttl),
		w.set.write, w.set.reads(), "", flag(w.fenced), clock.Millis(w.minUptime),
		s.waiter.ID, &at, int64(waiterLife/time.Millisecond), channel, s.waiter.Channel)
	before := s.place
	// An earlier try may have entered the lines without an answer. Called as one that has no place the next
	// try would enter them once more, behind itself.
	c.Resent = func() { at = before.orUnknown().argument() }
	return c
}

// intentGrace is by how much an intent outlives the wait of the writer that declares it.
const intentGrace = time.Second

// noIntent is the life of the intents of an Obtain that declares none, or will not ask again.
const noIntent time.Duration = 0

// intentLife is how long the intents of an Obtain last that waits so long after it was refused. If wait is
// negative it does not ask again.
func (w *want) intentLife(wait time.Duration) time.Duration {
	if !w.declares || wait < 0 {
		return noIntent
	}
	return min(wait, maxTTL) + intentGrace
}

// intentArgument is how scripts are told how long intents are to live.
func (w *want) intentArgument(life time.Duration) string {
	if !w.declares {
		return ""
	}
	return strconv.FormatInt(clock.Millis(life), 10)
}

// argument is how scripts are told a place.
func (p place) argument() string {
	switch p.state {
	case unknownPlace:
		return "?"
	case knownPlace:
		return strconv.FormatInt(p.number, 10)
	default:
		return ""
	}
}

// An answer is what obtain.lua and rw.lua reply. Its code says which of the rest is there.
type answer struct {
	code     int64
	number   int64          // done: the fencing number, 0 without
	conflict *ConflictError // refused, inLine: what is in the way

	// inLine
	place  int64
	micros int64         // of the server's clock, when it answered
	askIn  time.Duration // when to ask again if nothing is heard; negative: it does not say
	heard  bool          // somebody hears the channel of the waiter
}

// readAnswer reads the reply of obtain.lua or rw.lua.
func readAnswer(c *call, fenced bool) (a answer, err error) {
	code, rest, err := c.code(fenced)
	if err != nil {
		return a, err
	}
	reply := wire.Reply{Rest: rest}
	switch a.code = code; {
	case code == done:
		if fenced {
			a.number = reply.Number()
		}
		if reply.Bad || fenced && a.number <= 0 {
			return a, c.garbled()
		}
		return a, nil
	case code == overtaken && len(rest) == 0:
		return a, nil
	}
	a.conflict, err = decodeConflict(c.Keys, &reply)
	if err == nil && code == inLine {
		a.place, a.micros = reply.Number(), reply.Number()
		a.askIn, a.heard = clock.FromMillis(reply.Number()), reply.Number() == 1
		if reply.Bad {
			err = errors.New("no place in line")
		}
	}
	for err == nil && c.all && len(reply.Rest) > 0 {
		var other *ConflictError
		other, err = decodeConflict(c.Keys, &reply)
		a.conflict.Others = append(a.conflict.Others, other)
	}
	if err != nil || len(reply.Rest) > 0 || code != refused && code != inLine {
		return a, errors.Join(c.garbled(), err)
	}
	return a, nil
}

// ask asks once. If others of the token have overtaken that it asks again, behind them.
func (o *obtaining) ask(ctx context.Context, intent time.Duration) (*Lock, error) {
	o.asked.count++
	for rounds := 0; ; rounds++ {
		c := o.call(ctx, intent)
		c.ownedBy(o.owner, o.client.conn)
		if o.claim != nil && o.want.set.reads() > 0 {
			c.own.Reads, c.own.Since = true, o.claim.Since()
			c.yield = func() { c.keeps = true }
		}
		if err := o.send(ctx, c); err != nil {
			return nil, err
		}
		if isOvertaken(c) && ctx.Err() == nil && rounds < mostOvertaken {
			continue
		}
		return o.take(ctx, c, intent)
	}
}

// call prepares the script that takes the set: obtain.lua if it has write keys only.
func (o *obtaining) call(ctx context.Context, intent time.Duration) (c *call) {
	w, s := &o.want, o.line
	if intent != noIntent {
		o.left.intents = true
	}
	anySet := w.set.reads() > 0 || w.fenced || w.minUptime > 0
	switch {
	case s != nil && (s.subscribed || s.place.isPossible()):
		c = callRW(ctx, w, noIntent, s)
		c.Plain = !anySet && !s.place.isPossible() && !s.waiter.Others()
		if s.place.isPossible() {
			c.WaitForSlot = -1 // it asks again by itself, and hears its channel meanwhile
		}
	case anySet:
		c = callRW(ctx, w, intent, nil)
	default:
		c = o.client.callObtain(ctx, w, intent)
		// An Obtain that was refused will most likely be again, and wants to know by whom.
		c.Plain = !w.declares && o.asked.conflict == nil
	}
	// Nobody else knows the token, so it holds nothing yet: what refuses it refuses every such token. Of several
	// that want to write one at most is granted what they want, so it is worth asking for one of them first.
	c.Alike = s == nil && !w.tokenKnown && !w.declares && w.set.reads() == 0
	c.Again = s == nil && o.asked.conflict != nil
	c.Replicas = replicasFor(w.replicas, w.ttl)
	c.own.Effect, c.own.Home = owners.Takes, w.set.lines[0]
	c.reads, c.fresh, c.all = w.set.reads() > 0, w.fresh, w.allConflicts
	return c
}

// send sends a call, and returns why there is no outcome.
func (o *obtaining) send(ctx context.Context, c *call) error {
	conn, w := o.client.conn, &o.want
	o.asked.silent = false
	end := conn.DoWithin(ctx, &c.Call, conn.Bound(w.ttl, len(w.set.keys)), o.asked.patience())
	if c.Gone != (clock.Moment{}) && o.asked.ended == (clock.Moment{}) {
		o.asked.ended = c.Gone
	}
	o.asked.silent = end == wire.Silent || c.Silent
	settled := end == wire.Settled || !c.Leave(nil) // perhaps the outcome has come in this very moment
	if settled && (ctx.Err() == nil || !errors.Is(c.Err, wire.ErrNotSent)) {
		return nil
	}
	if !settled || c.IsUnanswered() {
		o.noteUnanswered() // what the call may still do is closed by the next one, or by the clean-up
	}
	if end == wire.Silent {
		return o.asked.andBefore(c, fmt.Errorf("redislock: obtain %s: %w: no answer for %s: %w",
			w.set, ErrUnknownOutcome, shown.Duration(clock.Now().Since(o.asked.began)), os.ErrDeadlineExceeded))
	}
	return &endedError{o.asked.andBefore(c, fmt.Errorf("redislock: obtain %s: %w: %w after %s",
		w.set, ErrUnknownOutcome, context.Cause(ctx), o.asked.spent()))}
}

// andBefore adds to the error of a call why the try before it has failed, if there was one that was no refusal:
// that is what is wrong with the server, for example that it takes no connections.
func (a *attempts) andBefore(c *call, err error) error {
	var before error
	if failed := c.Failed(); failed != nil {
		before = wire.Legible(failed)
	} else if !errors.Is(a.last, ErrNotObtained) {
		before = a.last
	}
	if before == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, before)
}

// take takes in the outcome of a call.
func (o *obtaining) take(ctx context.Context, c *call, intent time.Duration) (*Lock, error) {
	if c.IsUnanswered() || c.Err != nil && wire.Classify(c.Err) == wire.Unknown {
		o.noteUnanswered()
	}
	if c.Err != nil {
		return nil, o.failed(ctx, c)
	}
	a, err := readAnswer(c, o.want.fenced)
	a.conflict.cut(o.want.set)
	switch {
	case err != nil:
	case a.code == overtaken && ctx.Err() != nil:
		o.asked.noteEnded()
		return nil, o.contextEnded(ctx)
	case a.code == overtaken: // again and again: without an end to that it would ask for ever
		err = errors.Join(c.garbled(), errUnexpectedRefusal)
	case a.code == inLine && o.line == nil: // another script has answered: nobody has asked for a place
		err = c.garbled()
	case a.code == done && c.short() != nil:
		o.left.unused = true // replicas do not have it: after a fail-over somebody else might get it as well
		return nil, fmt.Errorf("redislock: obtain %s: %w: %w", o.want.set, ErrNotObtained, c.short())
	case a.code == done:
		sent := c.Sent
		o.client.recycle(c)
		return o.obtained(sent, a.number)
	default:
		o.refused(c.Sent, a, intent)
		o.client.recycle(c)
		return nil, o.inOwnWay(a.conflict)
	}
	o.noteUnanswered() // whoever has answered so may have done anything
	return nil, fmt.Errorf("redislock: obtain %s: %w: %w", o.want.set, ErrUnknownOutcome, err)
}

// failed takes in the error of a call.
func (o *obtaining) failed(ctx context.Context, c *call) error {
	runsNothing := redis.HasErrorPrefix(c.Err, "CROSSSLOT") || wire.ForbidsScripts(c.Err)
	if wire.Classify(c.Err) == wire.Final && !runsNothing {
		o.left.wrotePartly = true // a command of the script was refused behind others, for want of a right for example
	}
	cut := c.Cut != nil
	c.Cut = nil
	err := explained("obtain", o.want.set, c, false) // it gives back what it has done
	if !cut {
		return err
	}
	o.asked.last = err
	return o.contextEnded(ctx)
}

// refused takes in a refusal, and the place in line that may have come with it.
func (o *obtaining) refused(sent clock.Moment, a answer, intent time.Duration) {
	o.asked.conflict = a.conflict
	o.left.intents = intent != noIntent
	if o.line == nil {
		return
	}
	if a.code == inLine {
		o.line.stands(sent, a)
	}
	if a.conflict.Mode == ModeRestarted {
		o.line.askIn = a.conflict.TTL + clock.AfterEnd
	}
}

// obtained makes the lock, unless the answer came too late for it or for the caller. If only the time of Options.Wait is
// over that is no reason to give it back.
func (o *obtaining) obtained(sent clock.Moment, number int64) (*Lock, error) {
	w := &o.want
	o.left.intents = false
	deadline := sent.Add(clock.Window(w.ttl))
	if at := clock.Now(); at.Reached(deadline) {
		// The way to the server takes too long, or this process was paused: the lease may be over already, and
		// somebody else have the lock.
		o.left.unused = true
		err := fmt.Errorf("redislock: obtain %s: %w: the answer took %s, which leaves nothing of a ttl of %s; the keys are given back",
			w.set, ErrNotObtained, shown.Duration(at.Since(sent)), w.ttl)
		if o.line != nil && o.line.mayBeTooLate() {
			return nil, err
		}
		return nil, &endedError{err}
	}
	if o.caller.Err() != nil {
		o.asked.noteEnded()
		o.left.unused = true
		o.asked.last = ErrNotObtained // it is given back
		return nil, o.contextEnded(o.caller)
	}
	l := o.lock
	l.mu.Lock()
	l.set, l.ttl, l.counted, l.longest = w.set, w.ttl, w.ttl, w.ttl
	l.obtained, l.deadline = sent, deadline
	l.number, l.replicas = number, w.replicas
	if w.holdAtLeast > 0 {
		l.keep = clock.Now().Add(w.holdAtLeast) // by now it is certain to have begun
	}
	l.mu.Unlock()
	if w.watchdog {
		l.mu.Lock()
		l.watchLocked(true)
		l.mu.Unlock()
	}
	if w.pending {
		l.watch.renewNow()
	}
	return l, nil
}
