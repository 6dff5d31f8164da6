package proto

import (
	"cmp"
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
)

// This file says how obtain.lua and rw.lua are called, and what they answer.

// An Obtain takes a set, or none of its keys. It uses obtain.lua if that can do it, else rw.lua.
type Obtain struct {
	Set       Set
	Value     *string
	TTL       time.Duration
	MinUptime time.Duration // for how long the server has to have been up; 0: it does not matter
	Fresh     bool          // nobody has used its token with other metadata
	Block     bool          // its fencing number is to be the last of a block
	Waiter    *Waiter       // if it stands in line when it has to wait; else nil

	// Without a Waiter: Intents are the intent keys of the read keys, followed by the intent keys of the write keys if
	// it declares intents.
	Intents  []string
	Declares bool
	Intent   time.Duration // for how long its intents last; 0: it will not ask again
}

// A Waiter stands in line if it has to wait.
type Waiter struct {
	ID      string
	Place   Place
	Age     time.Duration // for how long it has waited: that is its place, if it has none yet
	Channel string
	Sharded bool // the channel
}

// A Place is where a waiter stands: the same number in the line of each of its keys. The zero Place is no place.
type Place struct {
	state  placeState
	number int64
}

type placeState uint8

const (
	noPlace      placeState = iota // it stands in no line
	unknownPlace                   // it may stand in line: a request to enter it was not answered
	knownPlace
)

// PlaceOf returns the place with this number.
func PlaceOf(number int64) Place { return Place{knownPlace, number} }

// Compare orders known places: the first is served first.
func (p Place) Compare(q Place) int { return cmp.Compare(p.number, q.number) }

// Number returns the number of a known place.
func (p Place) Number() int64 { return p.number }

// IsPossible reports whether the waiter may stand in line.
func (p Place) IsPossible() bool { return p.state != noPlace }

// IsKnown reports whether the waiter stands in line, and it is known where.
func (p Place) IsKnown() bool { return p.state == knownPlace }

// OrUnknown is a place for a waiter that may have entered its lines meanwhile.
func (p Place) OrUnknown() Place {
	if p.state == noPlace {
		p.state = unknownPlace
	}
	return p
}

// argument is the place as scripts get it.
func (p Place) argument() string {
	switch p.state {
	case unknownPlace:
		return "?"
	case knownPlace:
		return strconv.FormatInt(p.number, 10)
	default:
		return ""
	}
}

// where is a place of the waiter as scripts get it, which need its age if it may have none.
func (w *Waiter) where(place Place) string {
	if place.IsKnown() {
		return place.argument()
	}
	return place.argument() + strconv.FormatInt(-w.Age.Microseconds(), 10)
}

// Fill makes a new Run of this request.
func (o *Obtain) Fill(r *Run) {
	set := &o.Set
	anySet := set.Reads() > 0 || set.IsFenced() || o.MinUptime > 0
	if o.Waiter == nil && !anySet {
		r.fill(obtainScript, set, o.Value, o.TTL)
		if o.Declares {
			r.beside, r.own = set.beside(o.Intents...), []any{o.intent()}
		}
	} else {
		r.fill(rwScript, set, o.Value, o.TTL)
		o.fillAny(r)
	}
	r.effect = owners.Takes
	r.may = abilities{
		plain:  !anySet && !o.Declares && (o.Waiter == nil || !o.Waiter.Place.IsPossible()),
		looks:  set.Reads() > 0 && !o.Fresh,
		fenced: set.IsFenced(), block: o.Block,
	}
}

// fillAny fills in the arguments of rw.lua alone.
func (o *Obtain) fillAny(r *Run) {
	set, uptime := &o.Set, ""
	r.beside, r.writes = set.beside(), set.Writes
	if ms := clock.Millis(o.MinUptime); ms > 0 {
		uptime = strconv.FormatInt(ms, 10)
	}
	w := o.Waiter
	if w == nil {
		r.beside = set.beside(o.Intents...)
		r.own = withoutEmpty([]any{"", o.intent(), "", uptime})
		return
	}
	// An earlier try may have entered the lines without an answer. If the next try had no place it would enter them
	// once more, behind itself: see Resent.
	at := w.where(w.Place)
	r.waiter, r.at, r.may.fenced = w, &at, set.IsFenced()
	r.own = append(make([]any, 0, 4), w.ID, r.at, r.entry(false))
	if uptime != "" {
		r.own = append(r.own, uptime)
	}
}

// entry is what the waiter's entry in the line of its first key says between `alive until` and its value: see
// lua/include/entry.lua. A waiter that searches may already read some of its keys under other metadata. So it names a key that
// no script has. Then it is told to ask, and finds what it has.
func (r *Run) entry(searches bool) string {
	w, n := r.waiter, len(r.keys)
	how := [4]byte{mode(r.writes > 0), 'p', '-', '-'}
	if w.Sharded {
		how[1] = 's'
	}
	if r.may.fenced {
		how[2] = 'f'
	}
	var names []byte
	if n > 1 {
		how[3] = 'h'
		length := 4 * n
		for _, key := range r.keys {
			length += len(key)
		}
		names = make([]byte, 0, length+8)
		for k, key := range r.keys {
			names = strconv.AppendInt(append(names, mode(k < r.writes)), int64(len(key)), 10)
			names = append(append(names, ':'), key...)
		}
		if searches {
			names = append(names, "r0:"...)
		}
	}
	b := append(make([]byte, 0, 48+len(w.Channel)+len(names)), how[:]...)
	for _, number := range [...]int64{r.ttl, int64(n), int64(len(w.Channel)), int64(len(names))} {
		b = strconv.AppendInt(append(b, '|'), number, 10)
	}
	b = append(append(b, '|'), w.Channel...)
	return string(append(b, names...))
}

// mode is how an entry says whether its waiter wants to write or to read a key.
func mode(writes bool) byte {
	if writes {
		return 'w'
	}
	return 'r'
}

// intent is the life of intents as scripts get it; empty if there are none.
func (o *Obtain) intent() string {
	if !o.Declares {
		return ""
	}
	return strconv.FormatInt(clock.Millis(o.Intent), 10)
}

// Numbers are the fencing numbers of a hold, one for each lock to which it may be passed on. They are 0 if it has none.
type Numbers struct{ First, Last int64 }

func numbersUpTo(last int64, block bool) Numbers {
	if block {
		return Numbers{last - Block, last}
	}
	return Numbers{last, last}
}

// An Answer is the reply to an [Obtain]. Its code says which other fields are set.
type Answer struct {
	Code     Code
	Numbers  Numbers  // Done: the fencing numbers, 0 without
	Conflict Conflict // Refused, InLine: what is in the way

	// InLine
	Place  Place
	Micros int64         // of the server's clock, when it answered
	AskIn  time.Duration // when to ask again if nothing is heard; negative: it does not say
	Heard  bool          // somebody hears the channel of the waiter
}

// Answer reads the reply to an [Obtain].
func (r *Run) Answer(reply any) (a Answer, err error) {
	code, rest := code(reply, r.may.fenced)
	switch a.Code = code; {
	case code == Done:
		if r.may.fenced {
			a.Numbers = numbersUpTo(rest.number(), r.may.block)
		}
		if rest.bad || r.may.fenced && a.Numbers.First <= 0 {
			return a, r.Garbled(reply)
		}
		return a, nil
	case code == Overtaken && rest.isOver():
		return a, nil
	case code == InLine && r.at == nil: // another script has answered: no place was asked for
		return a, r.Garbled(reply)
	}
	a.Conflict = rest.conflict(r.keys)
	if code == InLine {
		a.Place, a.Micros = PlaceOf(rest.number()), rest.number()
		a.AskIn, a.Heard = rest.time(), rest.isOne()
	}
	if !rest.isOver() || code != Refused && code != InLine {
		return a, r.Garbled(reply)
	}
	return a, nil
}
