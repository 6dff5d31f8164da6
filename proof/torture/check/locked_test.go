package check_test

import (
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A locked is a lock as its holder knows it.
type locked struct {
	*caller
	want
	op       int
	asked    time.Duration
	kept     time.Duration
	deadline time.Duration
	number   int64
	state    string // "held", "lost", "released"
	changes  int
	watched  bool
	renewed  bool
	leads    bool
}

// begin hands the lock to the caller.
func (l *locked) begin(o *obtaining) {
	o.over = true
	l.state, l.lock = "held", l
	if l.leads {
		l.op = l.call(history.Event{Action: history.Lead, Package: history.Election, Write: l.write, Until: l.deadline, Fence: l.number})
		l.later()
	} else {
		o.done(o.op, history.Event{
			Outcome: history.OK, Lock: o.op, Until: l.deadline, Fence: l.number, Watched: l.watched, Renewed: l.renewed,
		})
	}
	if l.watched {
		l.alarm()
	}
	if l.renewed {
		l.soon(l.now+l.ttl/3, l.renew)
	}
}

// alarm tells the loss a little before the deadline, unless that has moved.
func (l *locked) alarm() {
	early := min(l.ttl/20, 100*time.Millisecond)
	l.soon(l.deadline-early, func() {
		switch {
		case l.state != "held":
		case l.now >= l.deadline-early:
			l.lose()
		default:
			l.alarm()
		}
	})
}

// lose is when the holder learns of the loss.
func (l *locked) lose() {
	if l.state != "held" {
		return
	}
	l.state = "lost"
	tell := func() {
		switch {
		case l.leads:
			l.endTerm()
		case l.watched:
			l.process.write(history.Event{Kind: history.Lost, Lock: l.op, Op: l.op, Client: l.caller.number, Until: l.deadline})
		}
	}
	switch {
	case l.defect == silentLoss && l.watched && !l.leads:
		l.planted++
	case l.defect == lateLoss && l.watched:
		l.planted++
		l.soon(max(l.now, l.deadline)+700*time.Millisecond, tell)
	default:
		tell()
	}
}

func (l *locked) endTerm() {
	l.process.write(history.Event{
		Kind: history.Return, Op: l.op, Client: l.caller.number, Action: history.Lead, Outcome: history.OK, Until: l.deadline, Fence: l.number,
	})
}

// renew is what the watchdog does.
func (l *locked) renew() {
	if l.state != "held" {
		return
	}
	sent, changes, ttl := l.now, l.changes, l.ttl
	if l.defect == needlessLoss && random.Chance(l.rng, 20) {
		l.planted++
		l.lose()
		return
	}
	l.ask(func() any { return l.state != "held" || l.server.renew(l.keys(), l.token, ttl, true) }, func(reply any) {
		switch deadline := sent + certain(ttl); {
		case l.state != "held":
		case !reply.(bool):
			l.lose()
		case l.changes == changes && deadline > l.deadline && l.now < l.deadline-min(l.ttl/20, 100*time.Millisecond):
			l.deadline = deadline
			l.process.write(history.Event{Kind: history.Renewal, Lock: l.op, Op: l.op, Until: deadline})
		}
	}, func() {})
	l.soon(l.now+ttl/3, l.renew)
}

// use is what the holder does next.
func (l *locked) use() {
	n := l.rng.IntN(100)
	switch {
	case l.leads && (n < 5 || l.state != "held"):
		l.release(history.Event{Action: history.Release})
	case l.leads && n < 30:
		l.enter()
	case l.leads:
		l.later()
	case n < 8:
		l.refresh()
	case n < 14 && len(l.read) > 0:
		l.convert(history.Upgrade)
	case n < 20 && len(l.write) > 0:
		l.convert(history.Downgrade)
	case n < 26 && len(l.keys()) > 1 && l.state == "held":
		l.releaseKeys()
	case n < 32:
		l.lease(history.Event{Action: history.Remaining}, 0, func() any { return l.server.has(l.keys(), l.token) })
	case n < 45 && l.fenced:
		l.enter()
	case n < 53:
		l.release(history.Event{Action: history.Leave, Kept: random.Between(l.rng, 10*time.Millisecond, 1500*time.Millisecond)})
	case n < 57 && !l.profile.endless && !l.renewed:
		l.lock = nil // and forgets it
		l.later()
	case n < 75:
		l.later()
	default:
		l.release(history.Event{Action: history.Release})
	}
}

func (l *locked) enter() {
	op := l.call(history.Event{Action: history.Enter, Lock: l.op, Write: []string{"resource " + l.keys()[0]}, Fence: l.number})
	resource := "resource " + l.keys()[0]
	number := l.number
	l.ask(func() any { return l.server.resource(resource, number) }, func(reply any) {
		if reply.(bool) {
			l.done(op, history.Event{Outcome: history.OK, Fence: number})
		} else {
			l.done(op, history.Event{Outcome: history.Refused, Fence: number})
		}
	}, func() { l.done(op, history.Event{Outcome: history.Unknown, Fence: number}) })
}

func (l *locked) refresh() {
	ttl := l.someTTL()
	l.lease(history.Event{Action: history.Refresh, TTL: ttl}, ttl, func() any { return l.server.renew(l.keys(), l.token, ttl, false) })
}

// lease makes an operation that begins a lease of ttl, or none if that is 0.
func (l *locked) lease(e history.Event, ttl time.Duration, do func() any) {
	e.Lock = l.op
	op, sent := l.call(e), l.now
	if l.state != "held" {
		l.done(op, history.Event{Outcome: history.NotHeld})
		return
	}
	if ttl > 0 {
		l.changes++
		l.deadline = min(l.deadline, l.now+certain(ttl))
		if l.watched {
			l.alarm()
		}
	}
	until := func() time.Duration {
		if ttl == 0 {
			return 0
		}
		return l.deadline
	}
	l.ask(do, func(reply any) {
		l.changes++
		if l.defect == needlessNotHeld && random.Chance(l.rng, 20) {
			l.planted++
			reply = false
		}
		if ttl > 0 && reply == true && l.now >= sent+certain(ttl) || reply == false {
			l.lose()
		}
		why, isRefused := reply.(refusal)
		switch {
		case l.state != "held":
			l.done(op, history.Event{Outcome: history.NotHeld})
		case isRefused:
			l.done(op, history.Event{Outcome: history.Refused, Held: why.how, InWay: why.key, Until: until()})
		default:
			if ttl > 0 {
				l.ttl, l.deadline = ttl, sent+certain(ttl)
			}
			if e.Action == history.Upgrade || e.Action == history.Downgrade {
				l.converted(e.Action)
			}
			l.done(op, history.Event{Outcome: history.OK, Until: until(), Fence: l.number})
		}
	}, func() {
		l.changes++
		l.done(op, history.Event{Outcome: history.Unknown, Until: until()})
	})
}

func (l *locked) convert(a history.Action) {
	keys := l.keys()
	l.lease(history.Event{Action: a}, l.ttl, func() any {
		held, key, how := l.server.convert(keys, l.token, l.ttl, a == history.Upgrade)
		switch {
		case !held:
			return false
		case how != "":
			return refusal{key, how}
		}
		if a == history.Upgrade && l.fenced {
			l.number = l.server.number(keys)
		}
		return true
	})
}

func (l *locked) converted(a history.Action) {
	if a == history.Upgrade {
		l.write, l.read = l.keys(), nil
	} else {
		l.write, l.read = nil, l.keys()
	}
}

func (l *locked) releaseKeys() {
	keys := []string{l.keys()[0]}
	op := l.call(history.Event{Action: history.ReleaseKeys, Lock: l.op, Write: keys})
	l.write, l.read = without(l.write, keys), without(l.read, keys)
	l.free(op, keys, l.kept-(l.now-l.asked))
}

// release ends the lock, and leaves its keys for a while if it is to.
func (l *locked) release(e history.Event) {
	leave := l.kept - (l.now - l.asked)
	if e.Action == history.Leave {
		leave = max(leave, e.Kept)
	}
	l.lock = nil
	if l.leads {
		if l.state == "held" {
			l.state = "released"
			l.endTerm()
		}
		l.ask(func() any { return l.server.free(l.keys(), l.token, 0) }, func(any) { l.later() }, func() { l.later() })
		return
	}
	e.Lock = l.op
	op := l.call(e)
	was := l.state
	if was == "held" {
		l.state = "released"
	}
	l.free(op, slices.Clone(l.keys()), leave)
}

func (l *locked) free(op int, keys []string, leave time.Duration) {
	until := l.now + leave
	was, answered := l.state, false
	var ask func()
	ask = func() {
		l.ask(func() any { return l.server.free(keys, l.token, max(0, until-l.now)) }, func(reply any) {
			switch {
			case answered:
			case reply.(bool) && was != "lost":
				l.done(op, history.Event{Outcome: history.OK})
			default:
				l.done(op, history.Event{Outcome: history.NotHeld})
			}
		}, func() {
			if !answered {
				answered = true
				l.done(op, history.Event{Outcome: history.Unknown})
			}
			ask()
		})
	}
	ask()
}
