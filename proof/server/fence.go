package server

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Beside a lock key there are the numbers that were given for it: the greatest, that of the hold that writes the key, and
// that of each that reads it. They stay for a day after their last use.

// A numbering is what a run knows of the numbers of its set.
type numbering struct {
	before map[int]float64 // the greatest number of a key when a number was asked for; none if there was none
	base   int64           // the µs then
	kept   int             // readers whose numbers stay where those of others are dropped
}

// lifeOfNumbers is how long the numbers of a key are kept, ms. This is renewed once an hour.
func lifeOfNumbers(ttl int64) int64 { return max(day+hour, 2*ttl) }

// parse reads a number as a script does.
func parse(text string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// after is the number that comes after all that were given for some keys of the set, and after this microsecond, so that
// numbers grow also if they are lost. If something else is where the numbers of a key should be there can be none.
func (r *run) after(where []int, micros int64) (int64, error) {
	number := micros
	r.before, r.base = map[int]float64{}, micros
	for _, i := range where {
		fence := r.set[i].Fence
		kind, last := r.kind(fence), 0.0
		if kind == Hash {
			if text, ok := r.field(fence, Greatest); ok {
				last, ok = parse(text)
				if r.before[i] = last; !ok || math.IsNaN(last) || last >= mostNumber {
					kind = Foreign.kind()
				}
			}
		}
		if kind != Hash && kind != None {
			return 0, Failure(fmt.Sprintf("FOREIGNFENCE %d %s", i+1, r.kind(fence)))
		}
		if last >= float64(number) {
			number = 1 + int64(last)
		}
	}
	return number, nil
}

// kind is that of something that is not ours.
func (m Mode) kind() Kind { return Kind(m) }

// isDue reports whether the life of the numbers of a key is to be renewed: it was not within this hour, as the numbers say,
// which are moments; or that is not known.
func (r *run) isDue(i int, number, ttl int64) bool {
	last, ok := r.before[i]
	if !ok || last >= float64(r.base) || 2*ttl > day {
		return true
	}
	perHour := float64(hour * 1000)
	return math.Floor(last/perHour) != math.Floor(float64(number)/perHour)
}

// A giving is a hold that is given a number.
type giving struct {
	where  []int // its keys
	reads  map[int]bool
	shared map[int]bool // that others read as well, so that the numbers of others are not of the past
	token  string
	ttl    int64
}

// give gives a hold a number, which is the greatest of all its keys from now on.
func (r *run) give(g giving, number int64) int64 {
	// Numbers of very many readers may be left that have died within the hour: each hold looks at one of its keys.
	looksAt := g.where[number%int64(len(g.where))]
	text := decimal(number)
	for _, i := range g.where {
		fence := r.set[i].Fence
		_, known := r.before[i]
		due := r.isDue(i, number, g.ttl)
		if i == looksAt && g.reads[i] && !g.shared[i] {
			due = due || r.fields(fence) > mostKept
		}
		if due && known && !g.shared[i] {
			delete(r.Space, fence)
		} else if due && known {
			r.forgetDeadReaders(i)
		}
		if g.reads[i] {
			r.put(fence, map[string]string{Greatest: text, g.token: text})
		} else {
			r.put(fence, map[string]string{Greatest: text, writes: written(text, g.token)})
		}
		if due {
			r.ends(fence, r.now+lifeOfNumbers(g.ttl), r.now)
		}
	}
	return number
}

// fields counts the numbers of a key.
func (r *run) fields(fence string) int {
	if thing := r.of(Hash, fence); thing != nil {
		return len(thing.Fields)
	}
	return 0
}

// forgetDeadReaders drops the numbers of readers that have died, when they have become many: those of the readers that
// there are stay. If these are many, too, all of it stays.
func (r *run) forgetDeadReaders(i int) {
	fence, readers := r.set[i].Fence, r.members(r.set[i].Key)
	if r.kept+len(readers) > mostKept || r.fields(fence) < 2*len(readers)+64 {
		return
	}
	r.kept += len(readers)
	stay := map[string]string{}
	for _, m := range readers {
		token := Value(m.Text).Token()
		if text, ok := r.field(fence, token); ok && token != "" {
			stay[token] = text
		}
	}
	r.Space[fence].Fields = stay
}

// numberOfHold is the number that a token was given for all keys of the set; false if there is no such, or it is not the
// greatest of a key that the token writes: then the hold is another, or has grown. The keys behind the first `writes` are
// read from now on.
func (r *run) numberOfHold(kinds []Kind, writeKeys int, token string, ttl int64) (int64, bool) {
	var number string
	for i, s := range r.set {
		given, ok := r.field(s.Fence, token)
		if kinds[i] == String {
			last, known := r.field(s.Fence, Greatest)
			if known && (!ok || given != last) {
				by, _ := r.field(s.Fence, writes)
				given, ok = last, by == written(last, token)
			}
		}
		if !ok || i > 0 && given != number {
			return 0, false
		}
		number = given
	}
	for i, s := range r.set {
		r.ends(s.Fence, r.now+lifeOfNumbers(ttl), r.now)
		if i >= writeKeys && kinds[i] == String {
			r.put(s.Fence, map[string]string{token: number})
		}
	}
	n, ok := parse(number)
	return int64(n), ok
}

// forgetNumber forgets the number of a hold that has ended; `wrote`: it has written the key until now.
func (r *run) forgetNumber(fence, token string, wrote bool) {
	r.forget(fence, token)
	if wrote {
		r.forget(fence, writes)
	}
}

// all are the places of the whole set.
func (r *run) all() []int {
	all := make([]int, len(r.set))
	for i := range all {
		all[i] = i
	}
	return all
}
