package server

import (
	"fmt"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// plantCrowd puts very many into one or two lines: more than may be dropped at once, or are told, or read together.
func (d dice) plantCrowd(space Space) {
	n, gone, home := pick(d, 11, 20, 80, 520, 520), pick(d, 0, 10, 90, 100, 100), d.names[0]
	set := []Spot{spotOf(home)}
	if d.chance(60) {
		set = append(set, spotOf(d.names[1]))
	}
	for _, s := range set {
		delete(space, s.Line)
		if delete(space, s.Key); d.chance(70) {
			space[s.Key] = &Thing{Kind: String, Text: string(d.value(pick(d, tokens...))), End: d.end(pick(d, ttls...))}
		}
	}
	mode := pick(d, 0, 0, len(set))
	for k := range n {
		o := Obtaining{Head: Head{Set: set, Writes: mode, Value: Value(fmt.Sprintf("crowd%d", k)), TTL: pick(d, ttls...)}}
		if d.chance(20) {
			o.Writes = d.IntN(len(set) + 1)
		}
		o.Line = &proto.Waiter{ID: fmt.Sprintf("c%04d-------------secret", k), Channel: "p:one"}
		till := d.end(12_000)
		if d.chance(gone) {
			o.Line.Channel = "p:gone"
			till = d.end(pick(d, 12_000, int64(-k)))
		}
		for i, s := range set {
			space.Add(s.Line, o.EntryFor(i, till).String(), float64(begin-2_000_000+int64(k)))
			space[s.Line].End = d.end(30_000)
		}
	}
}

// plantMany has very many read two keys, of whose numbers those of very many others are left that have died.
func (d dice) plantMany(space Space) {
	for _, key := range d.names[:2] {
		s := spotOf(key)
		delete(space, key)
		fields := map[string]string{Greatest: decimal(begin - 2*hour*1000)}
		for k := range pick(d, 30, 130, 257, 257) {
			token := fmt.Sprintf("reader%d", k)
			space.Add(key, token, float64(d.end(60_000+int64(k))))
			fields[token] = decimal(begin - 3*hour*1000 + int64(k))
		}
		space[key].End = int64(space[key].Members[len(space[key].Members)-1].Score)
		for k := range pick(d, 60, 600, 600) {
			fields[fmt.Sprintf("dead%d", k)] = "7"
		}
		space[s.Fence] = &Thing{Kind: Hash, Fields: fields, End: d.end(day)}
		delete(space, s.Line)
	}
}
