package proto

import (
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
)

// This file says how release.lua is called, and what it answers.

// releaseOwn is how many arguments a release has of its own, before the indexes of the keys that it must not free.
const releaseOwn = 3

// A Release frees a set, or leaves it taken for some more time.
type Release struct {
	Set     Set
	Value   *string
	Channel string       // of the caller: messages there come in the reply instead; empty: none do
	Waiter  string       // the id of a waiter that quits; empty: there is none
	Place   Place        // its place
	Keep    clock.Moment // the keys are left until then; zero: they are freed
	// Looks has it look for its token among the readers of keys, under other metadata, too.
	Looks bool
}

// A Next is who is to get the keys of a [Release], if they are as they were taken. Its set is the same.
type Next struct {
	Value *string
	TTL   time.Duration
	Age   time.Duration // for how long it has waited
	Block bool          // its fencing number is to be the last of a block
}

// Give has the next try of a filled [Release] give its keys to the next owner; nil has it give them to nobody.
func (r *Run) Give(n *Next) {
	if r.next != nil {
		r.own = withoutEmpty([]any{r.own[0]})
	}
	if r.next = n; n == nil {
		return
	}
	var channel any = ""
	if len(r.own) > 0 {
		channel = r.own[0]
	}
	to := gives
	if n.Block {
		to = givesBlock
	}
	r.own = []any{channel, to, -n.Age.Microseconds(), n.TTL.Milliseconds(), n.Value}
}

// gives is what a release says that gives its keys to the next owner. It gives a block of numbers with givesBlock.
const (
	gives      = ">"
	givesBlock = ">b"
)

// IsGiven reads the reply to a [Release], and reports whether the keys are the next owner's, with which numbers. There may
// be messages behind it.
func (r *Run) IsGiven(reply any) (its Numbers, given bool) {
	all, is := reply.([]any)
	if !is {
		return its, reply == any(int64(Given))
	}
	v := values{rest: all}
	if Code(v.number()) != Given {
		return its, false
	}
	if r.may.fenced {
		its = numbersUpTo(v.number(), r.next.Block)
	}
	return its, !v.bad && (its.First > 0) == r.may.fenced
}

// Fill makes a new Run of this request.
func (q *Release) Fill(r *Run) {
	r.fill(releaseScript, &q.Set, q.Value, 0)
	fenced := q.Set.IsFenced()
	if fenced {
		r.beside = q.Set.beside()
	}
	if q.Keep != (clock.Moment{}) {
		left := timeUntil(q.Keep)
		r.keep, r.left = q.Keep, &left
	}
	if q.Channel != "" || q.Waiter != "" {
		r.own = withoutEmpty([]any{q.Channel, q.Waiter, q.Place.argument()})
	}
	r.effect = owners.Lessens
	r.may = abilities{plain: q.Set.Reads() == 0 && len(r.own) == 0 && r.left == nil && !fenced, looks: q.Looks, fenced: fenced}
}

// timeUntil is the argument of a release that says for how long the keys are left: the rest of the time until end.
func timeUntil(end clock.Moment) string {
	ms := clock.Millis(clock.Now().Until(end))
	if ms == 0 {
		return ""
	}
	return strconv.FormatInt(ms, 10)
}

// GoOn makes a new Run that drops the waiters which the script has left, and hands their keys over to the next ones: a
// release of what nobody holds.
func (r *Run) GoOn(next *Run) {
	nobody := owners.NewID()
	next.fill(releaseScript, &Set{Keys: r.keys, Lines: r.beside[:len(r.keys)]}, &nobody, 0)
	next.form(false, false)
}

// Released reads the reply to a [Release]: which keys were not the token's, apart from the keys that it had to leave to
// other locks of the token.
func (r *Run) Released(reply any) (missing []string, err error) {
	v, err := r.Verdict(reply)
	if err == nil && v.Code == Overtaken {
		err = r.Garbled(reply)
	}
	if err != nil || len(r.spared) == 0 {
		return v.Missing, err
	}
	return owners.Without(v.Missing, r.SparedKeys()), nil
}

// A Break takes keys from their holders.
type Break struct {
	Set     Set
	Value   *string // a token of its own, which holds nothing
	Channel string  // the channel for clients that listen for Breaks
	Text    string  // what is published there
}

// Fill makes a new Run of this request.
func (q Break) Fill(r *Run) {
	r.fill(breakScript, &q.Set, q.Value, 0)
	r.beside, r.own = q.Set.beside(), []any{q.Channel, q.Text}
	r.effect, r.may.fenced = owners.Lessens, true // its owner holds nothing, so only others can suffer if it is late
}

// A Broken is one owner that has lost one key.
type Broken struct {
	Key  string
	Mode Mode
	Holder
}

// A Holder is an owner of a key.
type Holder struct {
	Stored string        // its metadata
	Left   bool          // it has left the key
	TTL    time.Duration // of its lease
	Since  time.Time     // when its token was made; zero if that is not known
}

// Broken reads the reply to a [Break]: which holder has lost which key, or the key that is no lock, so that nothing was
// done.
func (r *Run) Broken(reply any) (broken []Broken, conflict *Conflict, err error) {
	if reply == any(int64(Done)) || reply == Withdrawn {
		return nil, nil, nil
	}
	all, _ := reply.([]any)
	v := values{rest: all}
	switch code := Code(v.number()); code {
	case Done:
	case Refused:
		c := v.conflict(r.keys)
		conflict = &c
	default:
		v.bad = true
	}
	for v.goesOn() {
		b := Broken{Key: v.key(r.keys), Mode: v.text()}
		b.Stored, b.TTL, b.Left, b.Since = v.text(), v.time(), v.isOne(), owners.MadeAt(v.text())
		broken = append(broken, b)
	}
	if v.bad {
		return nil, nil, r.Garbled(reply)
	}
	return broken, conflict, nil
}
