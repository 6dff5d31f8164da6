package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/proof/random"
)

// begin is the clock at first, µs: in the year 2049, so that no lease ends by the clock of the machine.
const begin = int64(2_500_000_000_123_456)

// few are the lock keys of most courses.
var few = []string{"a", "b", "{c}", "d}e", "stock:7", "f"}

// tokens are those of owners. One is made as the library makes them, and one is the beginning of another.
var tokens = []string{"AlQ3xT9kAAAAAAAAAAAAAAAAAAAAAA", "job-1", "job-10", "t3", "t4", "t5"}

// ids are those of waiters, and of owners that have one of their own.
var ids = []string{"w1-----------secret-one", "w2-----------secret-two", "w3", "w4-----------secret-for", "w5-----------secret-fiv", "w6-----------secret-six"}

var channels = []string{"p:one", "p:two", "p:gone", "s:three"}

// ttls are those of leases, around what a script tells apart.
var ttls = []int64{1, 50, 1000, 4000, asksAgain - 1, asksAgain, 20_000, 60_000, 15 * day}

// dice throw what a course consists of.
type dice struct {
	*rand.Rand
	names     []string             // of the lock keys
	wants     map[string]Obtaining // what each waiter wants, by id
	*handover                      // what is released first; nil: something else
}

func pick[T any](d dice, from ...T) T      { return from[d.IntN(len(from))] }
func (d dice) chance(percent int) bool     { return random.Chance(d.Rand, percent) }
func (d dice) between(least, most int) int { return random.Between(d.Rand, least, most) }

// spotOf is a lock key and what stands beside it.
func spotOf(key string) Spot {
	return Spot{key, slot.Beside("line", key), slot.Beside("fence", key), slot.Beside("intent", key)}
}

// value is one of a token: most often with the metadata that it always has.
func (d dice) value(token string) Value {
	switch {
	case d.chance(80):
		return Value(token + "|of " + token)
	case d.chance(50):
		return Value(token)
	default:
		return Value(token + "|" + pick(d, "", "other", "a|b", "?"))
	}
}

// newDice makes dice that throw the same for the same seed. One course in some has a crowd that waits, or more keys than a script gives
// one command, or begins with a release of what others wait for.
func newDice(seed uint64) (d dice, start Space) {
	d = dice{Rand: rand.New(rand.NewPCG(seed, 0)), names: few, wants: map[string]Obtaining{}}
	switch {
	case seed%200 == 7:
		d.names = nil
		for i := range d.between(1001, 1100) {
			d.names = append(d.names, fmt.Sprintf("key%d", i))
		}
		return d, Space{}
	case seed%16 == 11:
		start = d.start()
		d.handover = d.plantHandover(start)
		return d, start
	case seed%16 == 3:
		start = d.start()
		if d.chance(35) {
			d.plantMany(start)
		} else {
			d.plantCrowd(start)
		}
		return d, start
	}
	return d, d.start()
}

// start plants what a server may hold, strange things as well.
func (d dice) start() Space {
	space := Space{}
	strange := 0
	if d.chance(30) {
		strange = 15
	}
	for _, name := range d.names {
		s := spotOf(name)
		d.plantLock(space, s.Key, strange)
		d.plantFence(space, s, strange)
		if d.chance(8) {
			space[s.Intent] = &Thing{Kind: String, Text: string(d.value(pick(d, tokens...))), End: d.end(pick(d, ttls...))}
		}
		d.plantLine(space, s.Line, strange)
		for _, key := range []string{s.Line, s.Fence, s.Intent} {
			if d.chance(strange / 5) {
				space[key] = d.foreign()
			}
		}
	}
	waiters := slices.Clone(ids)
	d.Shuffle(len(waiters), func(i, j int) { waiters[i], waiters[j] = waiters[j], waiters[i] })
	for _, id := range waiters[:d.IntN(len(waiters))] {
		d.plantWaiter(space, id, strange)
	}
	if o, ok := d.wants[waiters[0]]; ok && d.chance(60) { // all that it wants is held by one, who releases just that
		v, end := d.value(pick(d, tokens...)), d.end(pick(d, ttls...))
		for _, s := range o.Set {
			space[s.Key] = &Thing{Kind: String, Text: string(v), End: end}
		}
	}
	return space
}

func (d dice) end(ttl int64) int64 { return begin/1000 + ttl }

func (d dice) foreign() *Thing {
	thing := &Thing{Kind: pick(d, String, Hash, Sorted, "list"), Text: "somebody else's", End: pick(d, 0, d.end(60_000))}
	switch thing.Kind {
	case Hash:
		thing.Fields = map[string]string{"field": "text"}
	case Sorted:
		thing.Members = []Member{{"member", 1.5}}
	}
	if thing.Kind != String {
		thing.Text = ""
	}
	return thing
}

func (d dice) plantLock(space Space, key string, strange int) {
	if d.chance(strange) {
		space[key] = d.foreign()
		switch d.IntN(6) {
		case 0:
			space[key] = &Thing{Kind: String, Text: pick(d, "", strings.Repeat("x", mostToken+1), "|", "?"), End: d.end(9000)}
		case 1:
			space[key] = &Thing{Kind: String, Text: string(d.value(pick(d, tokens...)))}
		}
		return
	}
	switch d.IntN(5) {
	case 0, 1:
		v := d.value(pick(d, tokens...))
		if d.chance(10) {
			v = v.Left()
		}
		space[key] = &Thing{Kind: String, Text: string(v), End: d.end(pick(d, ttls...))}
	case 2:
		n := d.between(1, 4)
		if d.chance(5) {
			n = d.between(20, 45)
		}
		d.plantReaders(space, key, n)
	}
}

func (d dice) plantReaders(space Space, key string, n int) {
	for k := range n {
		token := pick(d, tokens...)
		if n > 10 {
			token = fmt.Sprintf("reader%d", k)
		}
		v, end := d.value(token), d.end(pick(d, ttls...))
		if d.chance(25) || n > 10 && d.chance(70) {
			end = d.end(-int64(d.IntN(5000)))
		}
		if d.chance(12) { // there are others with the same metadata
			space.Add(key, string(v.Left()), float64(d.end(pick(d, ttls...))))
		}
		space.Add(key, string(v), float64(end))
	}
	last := int64(space[key].Members[len(space[key].Members)-1].Score)
	if space[key].End = last; last <= begin/1000 {
		delete(space, key)
	}
}

func (d dice) plantFence(space Space, s Spot, strange int) {
	if d.chance(50) {
		return
	}
	number := func() string {
		return decimal(pick(d, begin-1, begin-1-int64(d.IntN(9)), begin-5_000_000_000, begin+7, 3, 1))
	}
	fields := map[string]string{Greatest: number()}
	for _, m := range space.members(s.Key) {
		if token := Value(m.Text).Token(); d.chance(70) {
			fields[token] = pick(d, fields[Greatest], number())
		}
	}
	if text, ok := space.text(s.Key); ok && d.chance(70) {
		fields[writes] = written(fields[Greatest], Value(text).Token())
	}
	if d.chance(30) {
		fields[pick(d, tokens...)] = pick(d, fields[Greatest], number())
	}
	if d.chance(strange) {
		fields[pick(d, Greatest, writes)] = pick(d, "x", "9007199254740992", "-3", "nan", "7|")
		if d.chance(40) {
			delete(fields, Greatest)
			fields["other"] = "1"
		}
	}
	if d.chance(4) {
		for k := range pick(d, 70, 130, 300) {
			fields[fmt.Sprintf("dead%d", k)] = number()
		}
	}
	space[s.Fence] = &Thing{Kind: Hash, Fields: fields, End: pick(d, d.end(day), d.end(9), 0)}
}

// plantLine puts into a line what nobody waits by: guards, and texts of others.
func (d dice) plantLine(space Space, line string, strange int) {
	for range d.IntN(3) * d.IntN(2) {
		owner := pick(d, slices.Concat(tokens, ids)...)
		end := begin/1_000_000 + int64(pick(d, -3, 0, 1, 20, 299, guardLife))
		space.Add(line, owner, Guard{float64(pick(d, 1, 3, 7, numbers-1)), float64(end)}.Score())
	}
	if d.chance(strange) {
		space.Add(line, d.spoil(pick(d, "x", "|", "spoiled|", "spoiled|5|wp-h|5|2|1|1|xy", "1|2|wp--|0|1|0|0|t")),
			float64(pick(d, begin-40, 0, -7, begin+3)))
	}
	if thing := space[line]; thing != nil {
		thing.End = pick(d, d.end(301_000), d.end(301_000), d.end(30_000), d.end(400))
		if d.chance(strange) {
			thing.End = 0
		}
	}
}

// spoil changes a byte of a text now and then, or cuts it off. No byte becomes zero: Lua's string.format ends a text there, so that
// a message for such an id, which the library never makes, would be for nobody.
func (d dice) spoil(text string) string {
	if len(text) == 0 || d.chance(50) {
		return text
	}
	at := d.IntN(len(text))
	return pick(d, text[:at], text[:at]+string(rune(max(1, d.IntN(128))))+text[at+1:]) + "~"
}

// some are some of the lock keys. Of very many it may be all.
func (d dice) some() []string {
	all := slices.Clone(d.names)
	if len(all) > len(few) && d.chance(60) {
		return all[:len(all)-d.IntN(3)]
	}
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:d.between(1, 1+d.IntN(5))]
}

// obtaining is what a waiter wants. Whoever waits for something else has another id.
func (d dice) obtaining(id string) Obtaining {
	o, ok := d.wants[id]
	if !ok {
		o = d.wish(id)
		d.wants[id] = o
	}
	waiter := *o.Line
	o.Line = &waiter
	return o
}

func (d dice) wish(id string) Obtaining {
	ttl := pick(d, ttls...)
	o := Obtaining{Head: Head{Can: decode.Letters{Fenced: d.chance(25)}, TTL: ttl, Value: d.value(pick(d, tokens...))}}
	for _, key := range d.some() {
		o.Set = append(o.Set, spotOf(key))
	}
	o.Writes = pick(d, len(o.Set), d.IntN(len(o.Set)+1), 0)
	if len(o.Set) > o.Writes && d.chance(15) {
		o.Can.Search = true
	}
	channel := pick(d, channels...)
	o.Line = &proto.Waiter{ID: id, Sharded: channel[0] == 's', Channel: channel}
	return o
}

// plantWaiter puts a waiter into its lines, or into most of them.
func (d dice) plantWaiter(space Space, id string, strange int) {
	o := d.obtaining(id)
	place := float64(begin - int64(d.IntN(20)*100))
	till := d.end(int64(pick(d, 15_000, 15_000, 14_800, 9000, 1, 0, -1)))
	for i, s := range o.Set {
		text := o.EntryFor(i, till).String()
		if d.chance(strange) && len(o.Set) == 1 {
			text = d.spoil(text)
		}
		if kind := space.kind(s.Line); d.chance(strange) || kind != None && kind != Sorted {
			continue
		}
		space.Add(s.Line, text, place)
		space[s.Line].End = max(space[s.Line].End, pick(d, d.end(30_000), d.end(30_000), d.end(29_000)))
	}
}
