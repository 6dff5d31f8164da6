package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A step is one of the model, made at some moment between two.
type step struct {
	input
	write, read []string
	from, to    time.Duration
	of          *history.Operation
	row         int // of the picture
}

func (s step) keys() []string { return slices.Concat(s.write, s.read) }

// steps are those of a round.
type steps struct {
	all    []step
	rows   map[id]int
	open   int               // rows of steps that may be made late
	doubts map[string][]span // by key: when somebody may have it of whom the model knows nothing
	left   int32
}

// never is the end of a step that may be made late: later than all events.
const never = forever / 2

// steps makes the steps of the model.
func (r *round) steps() *steps {
	s := &steps{rows: map[id]int{}, doubts: map[string][]span{}}
	for _, h := range r.holds {
		s.doubtObtain(h)
	}
	for i, h := range r.holds {
		if isModelled(h) {
			s.addHold(h, int32(i+1))
		}
	}
	for _, b := range r.breaks {
		at := executed(b)
		s.add(b, input{does: breaks}, b.Write, nil, at)
	}
	return s
}

func isModelled(h *hold) bool {
	o := h.obtain
	return o.Action == history.Obtain && o.Package == history.Plain && o.Token == ""
}

// doubtObtain takes note of what an obtain may have locked of which the model has no step.
func (s *steps) doubtObtain(h *hold) {
	o := h.obtain
	switch {
	case !isModelled(h), !o.Returned:
		s.doubt(o, never)
	case o.Outcome == history.OK, o.Outcome == history.Refused && o.Way == history.Once:
	case o.Outcome == history.Refused:
		s.doubt(o, o.End+waiterLife)
	default:
		s.doubt(o, never)
	}
	if !isModelled(h) {
		return
	}
	for _, op := range h.ops {
		known := op.Returned && (op.Outcome == history.OK || op.Outcome == history.Refused)
		switch {
		case op.Action == history.Upgrade && !known, op.Action == history.Leave && !known,
			op.Action == history.Release && o.Kept > 0 && !known:
			s.doubtFrom(o, op.At, never)
		case op.Action == history.ReleaseKeys && o.Kept > 0:
			s.doubtFrom(o, op.At, never)
		}
	}
}

func (s *steps) doubt(o *history.Operation, until time.Duration) { s.doubtFrom(o, o.At, until) }

func (s *steps) doubtFrom(o *history.Operation, from, until time.Duration) {
	for _, k := range slices.Concat(o.Write, o.Read) {
		s.doubts[k] = append(s.doubts[k], span{from, until})
	}
}

func (s *steps) isDoubtful(keys []string, at span) bool {
	for _, k := range keys {
		for _, d := range s.doubts[k] {
			if d.begin <= at.end && d.end >= at.begin {
				return true
			}
		}
	}
	return false
}

// add adds a step. One that may be made late has a row of its own in a picture.
func (s *steps) add(o *history.Operation, in input, write, read []string, at span) {
	row := id{o.Process, o.Client}
	if at.end >= never {
		s.open++
		row, at.end = id{0, -s.open}, never
	}
	if _, ok := s.rows[row]; !ok {
		s.rows[row] = len(s.rows)
	}
	in.say = fmt.Sprintf("%s %d of process %d", o.Action, o.Op, o.Process)
	if o.Lock > 0 && o.Lock != o.Op {
		in.say += fmt.Sprintf(" (lock %d)", o.Lock)
	}
	in.say += fmt.Sprintf(": %s %s", in.does, strings.Join(slices.Concat(write, read), " "))
	s.all = append(s.all, step{in, write, read, at.begin, at.end, o, s.rows[row]})
}

// addHold adds the steps of an obtain and of its lock.
func (s *steps) addHold(h *hold, lock int32) {
	o := h.obtain
	during := span{o.At, o.End}
	switch {
	case o.Returned && o.Outcome == history.OK:
		s.add(o, input{does: takes, lock: lock}, o.Write, without(o.Read, o.Write), during)
	case o.Returned && o.Outcome == history.Refused && o.Way == history.Once:
		s.addRefusal(o, lock)
		return
	default:
		return
	}
	for _, op := range h.ops {
		s.addStep(h, op, lock)
	}
}

// addRefusal adds that a key was in the way, if it says that somebody held it.
func (s *steps) addRefusal(o *history.Operation, lock int32) {
	how := strings.TrimSuffix(o.Held, "-left")
	if how != "" && how != "write" && how != "read" || slices.Contains(o.Is, "ErrNotReplicated") {
		return
	}
	write, read := o.Write, without(o.Read, o.Write)
	if slices.Contains(write, o.InWay) {
		write, read = []string{o.InWay}, nil
	} else if slices.Contains(read, o.InWay) {
		write, read = nil, []string{o.InWay}
	}
	if at := (span{o.At, o.End}); !s.isDoubtful(slices.Concat(write, read), at) {
		s.add(o, input{does: isRefused, lock: lock}, write, read, at)
	}
}

// addStep adds what an operation on a lock says, and does.
func (s *steps) addStep(h *hold, op *history.Operation, lock int32) {
	during, late := span{op.At, op.End}, span{op.At, never}
	keys := h.keysAt(op)
	knows := op.Returned && op.Outcome == history.NotHeld && !h.endedBefore(op) // nobody has told the process before
	add := func(does does) { s.add(op, input{does: does, lock: lock}, keys, nil, during) }
	ok := op.Returned && op.Outcome == history.OK
	switch op.Action {
	case history.Refresh, history.Remaining, history.RaiseFence:
		if ok {
			add(has)
		} else if knows {
			add(hasNot)
		}
	case history.Upgrade:
		switch {
		case ok:
			add(raises)
		case op.Outcome == history.Refused && !s.isDoubtful(keys, during):
			add(cannot)
		case knows:
			add(hasNot)
		}
	case history.Downgrade:
		switch {
		case ok:
			add(lowers)
		case knows:
			add(hasNot)
		case op.Outcome != history.NotHeld:
			s.add(op, input{does: lowers, lock: lock, maybe: true}, keys, nil, late)
		}
	case history.ReleaseKeys, history.Release, history.Leave:
		if op.Action == history.ReleaseKeys {
			keys = slices.Concat(op.Write, op.Read)
		}
		kept := h.keptFrom(op)
		switch {
		case ok && kept != (span{}):
			s.left--
			s.add(op, input{does: leaves, lock: lock, left: s.left}, keys, nil, during)
			s.add(op, input{does: ends, left: s.left}, keys, nil, kept)
		case ok:
			add(frees)
		case knows:
			s.add(op, input{does: gives, lock: lock, missing: true}, keys, nil, during)
		default:
			s.add(op, input{does: gives, lock: lock}, keys, nil, late)
		}
	}
}

// keysAt are the keys that the lock has certainly not freed when an operation is over.
func (h *hold) keysAt(op *history.Operation) []string {
	keys := slices.Concat(h.obtain.Write, without(h.obtain.Read, h.obtain.Write))
	for _, other := range h.ops {
		if other != op && other.Action == history.ReleaseKeys && other.At <= op.End {
			keys = without(keys, slices.Concat(other.Write, other.Read))
		}
	}
	return keys
}

// keptFrom is when what a Release or a Leave has left ends; nothing if it leaves nothing.
func (h *hold) keptFrom(op *history.Operation) span {
	o := h.obtain
	var from, to time.Duration
	if o.Kept > 0 {
		from, to = o.At+window(o.Kept), o.End+longer(o.Kept)
	}
	if op.Action == history.Leave {
		from, to = max(from, op.At+window(op.Kept)), max(to, op.End+longer(op.Kept))
	}
	if op.Action == history.ReleaseKeys || to <= op.At {
		return span{}
	}
	return span{max(op.At, from), max(to, op.End) + time.Second}
}

func without(keys, others []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(others, k) })
}
