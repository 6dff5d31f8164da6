package check_test

import (
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A caller makes one operation at a time.
type caller struct {
	*process
	number int
	lock   *locked // that it holds, as far as it knows
}

// call writes the Call of an operation and returns its number.
func (c *caller) call(e history.Event) int {
	c.ops++
	e.Kind, e.Op, e.Client = history.Call, c.ops, c.number
	c.write(e)
	return e.Op
}

// done writes the Return of an operation, and goes on.
func (c *caller) done(op int, e history.Event) {
	e.Kind, e.Op, e.Client = history.Return, op, c.number
	c.write(e)
	c.later()
}

// later has the caller go on after a while.
func (c *caller) later() {
	c.soon(c.now+random.Between(c.rng, time.Millisecond, 60*time.Millisecond), c.next)
}

// next is one step of the caller.
func (c *caller) next() {
	leads := c.profile.election && c.number == 1
	switch {
	case c.lock != nil && c.now > simulated:
		c.lock.release(history.Event{Action: history.Release})
	case c.lock != nil:
		c.lock.use()
	case c.now > simulated:
		if c.open--; c.open == 0 {
			c.soon(c.now+2*time.Second, func() { c.write(history.Event{Kind: history.Left}) })
		}
	case c.profile.breaks && !leads && random.Chance(c.rng, 4):
		c.breaks()
	default:
		c.obtain(leads)
	}
}

func (c *caller) breaks() {
	keys := c.someKeys()
	op := c.call(history.Event{Action: history.Break, Write: keys})
	c.ask(func() any {
		c.server.breakKeys(keys)
		return nil
	}, func(any) {
		c.done(op, history.Event{Outcome: history.OK})
	}, func() {
		c.done(op, history.Event{Outcome: history.Unknown})
	})
}

func (c *caller) someKeys() (keys []string) {
	all := []string{"a", "b", "c", "d", "e"}
	for _, i := range c.rng.Perm(len(all))[:1+c.rng.IntN(3)] {
		keys = append(keys, all[i])
	}
	return keys
}

// someTTL is one of a lease.
func (c *caller) someTTL() time.Duration {
	if c.profile.endless {
		return 10 * time.Minute
	}
	return time.Duration(1+c.rng.IntN(3)) * 600 * time.Millisecond
}

// An obtaining is one obtain under way.
type obtaining struct {
	*caller
	op     int
	lock   *locked
	way    history.Way
	wait   time.Duration
	since  time.Duration
	waits  bool
	over   bool
	in     *waiter // the line
	inWay  [2]string
	leads  bool
	kept   time.Duration
	shared bool
}

func (c *caller) obtain(leads bool) {
	keys, o := c.someKeys(), &obtaining{caller: c, since: c.now, leads: leads}
	w := want{write: keys, token: c.newToken(), ttl: c.someTTL(), fenced: random.Chance(c.rng, 50)}
	switch n := c.rng.IntN(5); {
	case leads:
		w = want{write: []string{"leader"}, token: w.token, ttl: 900 * time.Millisecond, fenced: true}
	case n < 2:
		w.write, w.read = nil, keys
	case n == 2 && len(keys) > 1:
		w.write, w.read = keys[:1], keys[1:]
	}
	if c.profile.tokens && !leads && random.Chance(c.rng, 30) {
		w.token, o.shared = "shared "+keys[0], true
	}
	o.way = []history.Way{history.Once, history.Poll, history.Queue, history.Queue}[c.rng.IntN(4)]
	if c.profile.queues && random.Chance(c.rng, 80) || leads {
		o.way = history.Queue
	}
	if o.way != history.Once && (c.profile.endless || random.Chance(c.rng, 70)) {
		o.wait = 8 * time.Second
		if random.Chance(c.rng, 15) {
			o.wait = random.Between(c.rng, time.Millisecond, 400*time.Millisecond)
		}
	}
	if random.Chance(c.rng, 15) && !leads {
		o.kept = random.Between(c.rng, 100*time.Millisecond, 1500*time.Millisecond)
	}
	o.lock = &locked{caller: c, want: w, asked: c.now, kept: o.kept, watched: random.Chance(c.rng, 60) || leads}
	o.lock.renewed = leads || o.lock.watched && random.Chance(c.rng, 60)
	if leads {
		o.lock.leads, o.wait = true, 0
	} else {
		e := history.Event{
			Action: history.Obtain, Write: w.write, Read: w.read, Way: o.way, TTL: w.ttl, Wait: o.wait, Fenced: w.fenced, Kept: o.kept,
		}
		if o.shared {
			e.Token = w.token
		}
		o.op = c.call(e)
		o.lock.op = o.op
	}
	if o.wait > 0 {
		c.soon(c.now+o.wait, o.giveUp)
	}
	o.attempt()
}

// A refusal is the reply to those who do not get what they want.
type refusal struct{ key, how string }

// attempt asks once.
func (o *obtaining) attempt() {
	sent := o.now
	o.ask(func() any {
		if key, how := o.server.refuses(o.lock.want, nil); how != "" {
			return refusal{key, how}
		}
		if o.defect == staleAnswer && random.Chance(o.rng, 15) {
			o.planted++
			return refusal{o.lock.keys()[0], "write"}
		}
		return o.server.take(o.lock.want)
	}, func(reply any) {
		switch reply := reply.(type) {
		case int64:
			o.granted(sent, reply)
		case refusal:
			o.inWay = [2]string{reply.key, reply.how}
			o.refused()
		}
	}, func() {
		if o.way != history.Once && !o.over {
			o.attempt()
			return
		}
		o.end(history.Event{Outcome: history.Unknown})
		o.cleanUp()
	})
}

// refused is what follows a refusal.
func (o *obtaining) refused() {
	switch {
	case o.over:
		return
	case o.way == history.Once && !o.leads:
		o.end(o.refusal())
		return
	case !o.waits && !o.leads:
		o.waits = true
		o.write(history.Event{Kind: history.Waiting, Op: o.op})
	}
	if o.way == history.Queue {
		o.soon(o.now+o.latency(), o.enter)
		return
	}
	o.soon(o.now+random.Between(o.rng, 5*time.Millisecond, 80*time.Millisecond), func() {
		if !o.over {
			o.attempt()
		}
	})
}

func (o *obtaining) refusal() history.Event {
	return history.Event{Outcome: history.Refused, Held: o.inWay[1], InWay: o.inWay[0], Is: []string{"ErrNotObtained"}}
}

// enter stands in line.
func (o *obtaining) enter() {
	if o.over {
		return
	}
	w := &waiter{want: o.lock.want, owner: o.process}
	w.granted = func(number int64) {
		at := o.now
		o.soon(o.now+o.latency(), func() { o.granted(at, number) })
	}
	o.in = w
	entered := false
	var ask func()
	ask = func() {
		o.ask(func() any {
			if !entered {
				entered = true
				o.server.enter(w)
			}
			return nil
		}, func(any) {}, func() {
			if !o.over {
				ask()
			}
		})
	}
	ask()
}

// granted is told by a server to whoever has got the lock since a moment.
func (o *obtaining) granted(since time.Duration, number int64) {
	l := o.lock
	l.deadline = since + certain(l.ttl)
	switch {
	case o.over:
		o.cleanUp()
	case o.now >= l.deadline && o.way == history.Queue:
		o.enter()
	case o.now >= l.deadline:
		o.end(history.Event{Outcome: history.Failed, Is: []string{"ErrNotObtained"}})
		o.cleanUp()
	case o.defect == needlessError && random.Chance(o.rng, 5):
		o.planted++
		o.end(history.Event{Outcome: history.Failed, Error: "ERR nobody knows"})
		o.cleanUp()
	default:
		l.number = number
		l.begin(o)
	}
}

// giveUp ends the waiting.
func (o *obtaining) giveUp() {
	if o.over {
		return
	}
	o.over = true
	e := o.refusal()
	if e.Held == "" {
		e = history.Event{Outcome: history.Unknown}
	}
	o.soon(o.now+random.Between(o.rng, 0, 50*time.Millisecond), func() { o.done(o.op, e) })
	o.cleanUp()
}

func (o *obtaining) end(e history.Event) {
	if !o.over {
		o.over = true
		o.done(o.op, e)
	}
}

// cleanUp gives back whatever the obtain may have got, at some time.
func (o *obtaining) cleanUp() {
	o.ask(func() any {
		if o.in != nil {
			o.in.out = true
		}
		o.server.free(o.lock.keys(), o.lock.token, 0)
		return nil
	}, func(any) {}, o.cleanUp)
}

// certain is for how long a lease is certain.
func certain(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// without are the keys that are not among the others.
func without(keys, others []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(others, k) })
}
