package server

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// edges changes what courses begin with, so that there is what the scripts tell apart by one: leases that end in this moment, entries as
// long as any may be, or longer, and as many readers and numbers as a key may have before some are dropped.
func (d dice) edges(space Space) {
	for _, name := range d.names[:min(len(d.names), len(few))] {
		s := spotOf(name)
		if thing := space[s.Key]; thing != nil && thing.Kind == String && d.chance(8) {
			thing.End = begin / 1000
		}
		if thing := space[s.Intent]; thing != nil && d.chance(20) {
			thing.End = begin / 1000
		}
		d.padEntries(space, s.Line)
		d.edgesOfNumbers(space, s)
	}
}

var digits = regexp.MustCompile(`\|\d+`)

// padEntries writes a number of some entries as long as it may be, or longer. Such an entry is another waiter's: nobody asks for it.
func (d dice) padEntries(space Space, line string) {
	members := slices.Clone(space.members(line))
	for _, m := range members[:min(len(members), 8)] {
		found := digits.FindAllStringIndex(m.Text, 5)
		if m.IsGuard() || len(found) < 5 || !d.chance(12) {
			continue
		}
		k := d.IntN(5)
		at, length := found[k], []int{15, 12, 9, 9, 9}[k]+pick(d, 0, 0, 1, 1, 3, 20)
		number, zero := m.Text[at[0]+1:at[1]], "0"
		if k == 1 {
			zero = "9" // a ttl begins with no zero
		}
		space.remove(line, func(other Member) bool { return other.Text == m.Text })
		space.Add(line, line+m.Text[:at[0]+1]+strings.Repeat(zero, max(0, length-len(number)))+number+m.Text[at[1]:], m.Score)
		space[line].End = max(space[line].End, d.end(30_000))
	}
}

// edgesOfNumbers has a key that is read by so many, or has so many numbers, that one more or less makes a difference.
func (d dice) edgesOfNumbers(space Space, s Spot) {
	readers, hash := space[s.Key], space[s.Fence]
	if readers == nil || readers.Kind != Sorted || hash == nil || hash.Kind != Hash {
		return
	}
	if len(readers.Members) > 256 {
		readers.Members = readers.Members[pick(d, 0, 1, 2):]
	}
	if !d.chance(50) {
		return
	}
	wanted := 2*len(readers.Members) + pick(d, 63, 64, 65)
	for k := 0; len(hash.Fields) < wanted; k++ {
		hash.Fields[fmt.Sprintf("edge%d", k)] = "5"
	}
	for _, field := range slices.Sorted(maps.Keys(hash.Fields)) {
		if len(hash.Fields) > wanted && strings.HasPrefix(field, "dead") {
			delete(hash.Fields, field)
		}
	}
}
