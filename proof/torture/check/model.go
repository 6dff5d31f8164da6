package check

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// A cell is one key of the model. Holders are named by numbers: those of locks from 1 on, those of keys that were left, which
// nobody holds, below 0.
type cell struct {
	writer  int32  // 0: none
	readers string // the numbers, sorted, 4 bytes each
}

// A state is all keys. It is never changed, because the search comes back to it.
type state []cell

// A does says what a step of the model is.
type does string

const (
	takes     does = "takes"      // the keys, which nobody has who is in the way
	isRefused does = "is refused" // because of one of the keys: somebody else has it
	has       does = "has"        // all keys
	hasNot    does = "has not"    // at least one of the keys
	raises    does = "raises"     // what it reads it writes from now on
	cannot    does = "cannot"     // write them all, because somebody else reads one of them
	lowers    does = "lowers"     // what it writes it reads from now on
	frees     does = "frees"      // the keys, all of which it has
	gives     does = "gives"      // the keys back, as far as it has them
	leaves    does = "leaves"     // the keys, all of which it has, so that nobody can have them
	ends      does = "ends"       // what was left is free
	breaks    does = "breaks"     // whoever has the keys
)

// An input is one step. Whether it can be made at a moment says what the caller was told.
type input struct {
	does        does
	lock        int32 // of whom
	left        int32 // by which number left keys are known; below 0
	write, read []int // keys
	maybe       bool  // it can be made at any time, and does what it can
	missing     bool  // it can be made only if the lock does not have all of the keys
	say         string
}

// model is that of sets of read and write locks of which no lease ends.
func model(keys []string) porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return make(state, len(keys)) },
		Step: func(s, in, _ any) (bool, any) {
			next, ok := in.(input).step(s.(state))
			return ok, next
		},
		Equal: func(a, b any) bool { return slices.Equal(a.(state), b.(state)) },
		Hash: func(s any) uint64 {
			var h maphash.Hash
			h.SetSeed(seed)
			for _, c := range s.(state) {
				var number [4]byte
				binary.BigEndian.PutUint32(number[:], uint32(c.writer))
				_, _ = h.Write(number[:])
				_, _ = h.WriteString(c.readers)
				_ = h.WriteByte(0xff)
			}
			return h.Sum64()
		},
		DescribeOperation: func(in, _ any) string { return in.(input).say },
		DescribeState:     func(s any) string { return s.(state).describe(keys) },
	}
}

// step makes the step, and reports whether it can be made.
func (in input) step(s state) (state, bool) {
	switch in.does {
	case takes:
		return in.take(s)
	case isRefused:
		return s, in.anyInTheWay(s)
	case has:
		return s, in.hasAll(s)
	case hasNot:
		return s, !in.hasAll(s)
	case raises:
		if !in.hasAll(s) || in.othersRead(s) {
			return s, false
		}
		return in.change(s, func(cell) cell { return cell{writer: in.lock} }), true
	case cannot:
		return s, in.hasAll(s) && in.othersRead(s)
	case lowers:
		return in.lower(s), in.maybe || in.hasAll(s)
	case frees:
		return in.free(s), in.hasAll(s)
	case gives:
		return in.free(s), !in.missing || !in.hasAll(s)
	case leaves:
		return in.leave(s), in.hasAll(s)
	case ends:
		return in.free(s), true
	case breaks:
		return in.change(s, func(cell) cell { return cell{} }), true
	}
	panic("unknown step: " + in.does)
}

// change makes a state in which the keys of the step are others.
func (in input) change(s state, to func(cell) cell) state {
	next := slices.Clone(s)
	for _, k := range in.keys() {
		next[k] = to(s[k])
	}
	return next
}

func (in input) keys() []int { return slices.Concat(in.write, in.read) }

func (in input) take(s state) (state, bool) {
	next := slices.Clone(s)
	for _, k := range in.write {
		if s[k] != (cell{}) {
			return s, false
		}
		next[k] = cell{writer: in.lock}
	}
	for _, k := range in.read {
		if s[k].writer != 0 {
			return s, false
		}
		next[k] = s[k].with(in.lock)
	}
	return next, true
}

func (in input) anyInTheWay(s state) bool {
	for _, k := range in.write {
		if s[k] != (cell{}) {
			return true
		}
	}
	return slices.ContainsFunc(in.read, func(k int) bool { return s[k].writer != 0 })
}

func (in input) hasAll(s state) bool {
	for _, k := range in.keys() {
		if s[k].writer != in.lock && !s[k].isReadBy(in.lock) {
			return false
		}
	}
	return true
}

func (in input) othersRead(s state) bool {
	for _, k := range in.keys() {
		if s[k].without(in.lock).readers != "" {
			return true
		}
	}
	return false
}

func (in input) lower(s state) state {
	return in.change(s, func(c cell) cell {
		if c.writer != in.lock {
			return c
		}
		return cell{}.with(in.lock)
	})
}

// free takes the lock, or what was left of it, off the keys.
func (in input) free(s state) state {
	who := in.lock
	if in.does == ends {
		who = in.left
	}
	return in.change(s, func(c cell) cell { return c.without(who) })
}

func (in input) leave(s state) state {
	return in.change(s, func(c cell) cell {
		switch {
		case c.writer == in.lock:
			return cell{writer: in.left}
		case c.isReadBy(in.lock):
			return c.without(in.lock).with(in.left)
		}
		return c
	})
}

// bytes are those of a number, whose order is that of numbers.
func bytes(lock int32) string {
	var number [4]byte
	binary.BigEndian.PutUint32(number[:], uint32(lock)^1<<31)
	return string(number[:])
}

// find is where the number is among the readers, or would be.
func (c cell) find(lock int32) (at int, ok bool) {
	number := bytes(lock)
	for at < len(c.readers) && c.readers[at:at+4] < number {
		at += 4
	}
	return at, at < len(c.readers) && c.readers[at:at+4] == number
}

func (c cell) isReadBy(lock int32) bool {
	_, ok := c.find(lock)
	return ok
}

func (c cell) with(lock int32) cell {
	at, ok := c.find(lock)
	if !ok {
		c.readers = c.readers[:at] + bytes(lock) + c.readers[at:]
	}
	return c
}

func (c cell) without(lock int32) cell {
	if c.writer == lock {
		c.writer = 0
	}
	if at, ok := c.find(lock); ok {
		c.readers = c.readers[:at] + c.readers[at+4:]
	}
	return c
}

// describe says who has which key.
func (s state) describe(keys []string) string {
	var parts []string
	for i, c := range s {
		if c.writer != 0 {
			parts = append(parts, fmt.Sprintf("%s: written by %s", keys[i], who(c.writer)))
		}
		var readers []string
		for at := 0; at < len(c.readers); at += 4 {
			readers = append(readers, who(int32(binary.BigEndian.Uint32([]byte(c.readers[at:at+4]))^1<<31)))
		}
		if len(readers) > 0 {
			parts = append(parts, fmt.Sprintf("%s: read by %s", keys[i], strings.Join(readers, ", ")))
		}
	}
	if len(parts) == 0 {
		return "all keys are free"
	}
	return strings.Join(parts, "; ")
}

func who(lock int32) string {
	if lock < 0 {
		return "nobody, it was left"
	}
	return fmt.Sprintf("lock %d", lock)
}
