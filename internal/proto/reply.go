package proto

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A Code is the first part of a script's reply, which is a code alone or an array that begins with it.
type Code int64

const (
	// Done says that all of it was done.
	Done Code = 1
	// Given says that all of it was done, and that the keys are the next owner's.
	Given Code = 2
	// Refused says that nothing was done, because something stands in the way: what it is stands behind the code.
	Refused Code = 0
	// NotYours says that some keys are not the token's: they stand behind the code.
	NotYours Code = -1
	// InLine says that nothing was done, and that the caller stands in line: the reason and the place stand behind the
	// code.
	InLine Code = -2
	// Overtaken says that nothing was done, because a later request was executed before.
	Overtaken Code = -3
)

// Withdrawn is the reply of a run that is not sent: it counts as overtaken.
var Withdrawn any = int64(Overtaken)

// AllDone is the reply of a run that has done all, and has nothing else to say.
var AllDone any = int64(Done)

// IsAnswer reports whether a reply looks like one of the scripts.
func IsAnswer(reply any) bool {
	if all, ok := reply.([]any); ok && len(all) > 0 {
		reply = all[0]
	}
	_, ok := reply.(int64)
	return ok
}

// IsOvertaken reports whether a reply says that nothing was done, because a later request was executed before.
func IsOvertaken(reply any) bool { return reply == Withdrawn }

// IsRefusal reports whether a reply says that nothing was done, and why.
func (*Run) IsRefusal(reply any) bool {
	return beginsWith(reply, Refused)
}

// beginsWith reports whether a reply is an array that begins with a code.
func beginsWith(reply any, code Code) bool {
	all, ok := reply.([]any)
	return ok && len(all) > 0 && all[0] == any(int64(code))
}

// TakeMore takes off a reply that the script has left dead waiters, because they are too many: see [Run.GoOn].
func TakeMore(reply any) (rest any, more bool) { return takeLast(reply, "more") }

// TakeOpen takes off a reply that the script could not set its guards: the user lacks a right.
func TakeOpen(reply any) (rest any, open bool) { return takeLast(reply, "open") }

// takeLast takes a text off the end of a reply, if it is there. If one value is left of an array, it returns that
// value.
func takeLast(reply any, text string) (rest any, taken bool) {
	all, ok := reply.([]any)
	if !ok || len(all) < 2 || all[len(all)-1] != text {
		return reply, false
	}
	if all = all[:len(all)-1]; len(all) == 1 {
		return all[0], true
	}
	return all, true
}

// Garbled is the error for a reply that the script cannot have sent. Another script answers, or something between us
// and Redis.
func (r *Run) Garbled(reply any) error {
	return fmt.Errorf("unexpected reply to %s: %T", r.script.Name(), reply)
}

// code returns the code of a reply, and what stands behind it. Behind Done or Given a number may stand, if the run is
// numbered.
func code(reply any, numbered bool) (Code, values) {
	switch v := reply.(type) {
	case int64:
		return Code(v), values{}
	case []any:
		if len(v) > 1 {
			if n, ok := v[0].(int64); ok && (n <= 0 || n > 0 && numbered && len(v) == 2) {
				return Code(n), values{rest: v[1:]}
			}
		}
	}
	return 0, values{bad: true}
}

// values are the rest of a flat array, read from its front.
type values struct {
	rest []any
	bad  bool // a value was missing, or of another type
}

func (v *values) next() any {
	if len(v.rest) == 0 {
		return nil
	}
	first := v.rest[0]
	v.rest = v.rest[1:]
	return first
}

// goesOn reports whether there are more values, and all read so far were good.
func (v *values) goesOn() bool { return len(v.rest) > 0 && !v.bad }

// isOver reports whether all values were read and good.
func (v *values) isOver() bool { return len(v.rest) == 0 && !v.bad }

func (v *values) text() string {
	s, ok := v.next().(string)
	v.bad = v.bad || !ok
	return s
}

func (v *values) number() int64 {
	n, ok := v.next().(int64)
	v.bad = v.bad || !ok
	return n
}

func (v *values) isOne() bool { return v.number() == 1 }

// time reads a time in ms. It is negative if there is none.
func (v *values) time() time.Duration { return clock.FromMillis(v.number()) }

// key reads which of some keys it is; empty if it is none of them.
func (v *values) key(keys []string) string {
	i := v.number()
	if i < 1 || i > int64(len(keys)) {
		v.bad = true
		return ""
	}
	return keys[i-1]
}

// A Mode says how a key is held, or why it cannot be had.
type Mode = string

// ModeForeign means that the key holds something that is not a lock; ModeFree that it holds nothing.
const (
	ModeFree    Mode = "free"
	ModeForeign Mode = "foreign"
)

// A Conflict is one key that is in the way.
type Conflict struct {
	Key    string
	Mode   Mode
	Left   bool          // its holder has left it
	TTL    time.Duration // negative: the key has none
	Stored string        // the metadata of the holder, or of the waiter
	Type   string        // of a foreign key, else empty
}

// conflict reads one key that is in the way.
func (v *values) conflict(keys []string) (c Conflict) {
	c.Key = v.key(keys)
	c.Mode, c.TTL = v.text(), v.time()
	c.Mode, c.Left = strings.CutSuffix(c.Mode, "-left")
	if c.Stored = v.text(); c.Mode == ModeForeign {
		c.Stored, c.Type = "", c.Stored
	}
	return c
}

// A Verdict is the reply of a script that needs all its keys to be the token's.
type Verdict struct {
	Code     Code
	Missing  []string // of NotYours: the keys
	Conflict Conflict // of Refused: what is in the way
	Number   int64    // of Done and Given: the fencing number of the hold; 0 if the reply has none
}

// Verdict reads the reply to a [Refresh], a [Convert], a [Raise] or a [Release].
func (r *Run) Verdict(reply any) (v Verdict, err error) {
	numbered := r.may.fenced && (r.script == convertScript || r.next != nil && beginsWith(reply, Given))
	code, rest := code(reply, numbered)
	switch v.Code = code; {
	case numbered && (code == Done || code == Given):
		v.Number = rest.number()
	case code == Done, code == Overtaken, code == Given && r.next != nil:
	case code == NotYours && len(rest.rest) > 0:
		for rest.goesOn() {
			v.Missing = append(v.Missing, rest.key(r.keys))
		}
	case code == Refused && r.script == convertScript:
		v.Conflict = rest.conflict(r.keys)
	default:
		return v, r.Garbled(reply)
	}
	if !rest.isOver() {
		return v, r.Garbled(reply)
	}
	return v, nil
}

// ForeignFence reads the error of a script that found something else where the fencing numbers of a key would stand:
// its name in Redis, and its type. It reports false if the error is another one.
func (r *Run) ForeignFence(said string) (name, kind string, is bool) {
	words := strings.Fields(said)
	if len(words) < 3 || words[0] != "FOREIGNFENCE" {
		return "", "", false
	}
	index, _ := strconv.Atoi(words[1])
	if index < 1 || index > len(r.keys) {
		return "", "", false
	}
	return slot.Beside("fence", r.keys[index-1]), words[2], true
}
