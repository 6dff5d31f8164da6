// Package server is the model server: all scripts of the library, as Go over a key space in memory, with a clock that its
// caller sets. It is written from what the scripts promise, and a fuzz test compares it with them: the reply, what is
// published, and every key with its lease. So it says what the protocol is, whatever the scripts look like inside.
//
// Package decode reads what a script is called with. What the model makes of that is in request.go; how a reply looks is in
// reply.go, and how what is stored looks in stored.go. The rest speaks of locks, lines, entries, guards and numbers:
//
//	lock.go      who holds a key
//	guard.go     requests that are executed late
//	fence.go     fencing numbers
//	line.go      who waits, and who of them is gone
//	enter.go     how a waiter enters its lines
//	handover.go  who is next
//	obtain.go    obtain and rw; batch.go, again.go, lease.go, release.go, break.go, inspect.go and raise.go the others
//
// What is not modelled: users without rights, a server without memory, replicas, and how much of the work a script leaves
// undone that fails in the middle of it. A message that is empty is not recorded: it only asks who hears a channel.
package server

import "github.com/seed-14de3678/redislock/internal/proto/decode"

// A Server is what scripts run on.
type Server struct {
	Space  Space
	Micros int64 // its clock
	// Heard says how many hear a channel.
	Heard func(sharded bool, channel string) int
	// Up is for how long the server has been up, s.
	Up int64
	// NamesAll has a refusal name all keys that are in the way, as no script does: for a comparison.
	NamesAll bool
}

// A Message is one that was published.
type Message struct {
	Sharded bool
	Channel string
	Text    string
}

// An Outcome is what a run of a script has done, apart from what it has stored.
type Outcome struct {
	Reply    any // an int64, or a list of those, of strings and of nil
	Err      error
	Messages []Message
	Commands int // that a script has run; the model does not know
}

// scripts are those that there are, and what each does. A script returns its answer, or fails.
var scripts = map[string]func(r *run, c decode.Call) any{
	"obtain":  func(r *run, c decode.Call) any { return r.obtain(ObtainingOf(c)).reply() },
	"rw":      func(r *run, c decode.Call) any { return r.obtain(ObtainingOf(c)).reply() },
	"release": func(r *run, c decode.Call) any { return r.release(releasingOf(c)).reply() },
	"refresh": func(r *run, c decode.Call) any { return r.refresh(leasingOf(c)).reply() },
	"convert": func(r *run, c decode.Call) any { return r.convert(leasingOf(c)).reply() },
	"pttl":    func(r *run, c decode.Call) any { return r.remaining(leasingOf(c)).reply() },
	"raise":   func(r *run, c decode.Call) any { return r.raise(leasingOf(c)).reply() },
	"break":   func(r *run, c decode.Call) any { return r.breakUp(breakingOf(c)).reply() },
	"batch":   func(r *run, c decode.Call) any { return r.batch(bundleOf(c)).reply() },
	"again":   func(r *run, c decode.Call) any { return r.again(roundOf(c)).reply() },
	"inspect": func(r *run, c decode.Call) any { return r.inspect(spotIn(c)).reply() },
}

// Run runs a script, as EVAL does. What is no call of it fails.
func (s *Server) Run(script string, keys, args []string) Outcome {
	c, err := decode.Decode(script, keys, args)
	if err != nil {
		return Outcome{Err: err}
	}
	return s.do(c)
}

// do runs the script of a call.
func (s *Server) do(c decode.Call) (o Outcome) {
	now := s.Micros / 1000
	s.Space.Expire(now)
	r := &run{Server: s, Space: s.Space, now: now}
	defer func() {
		o.Messages = r.messages
		switch failed := recover().(type) {
		case nil:
		case Failure:
			o.Reply, o.Err = nil, failed
		default:
			panic(failed)
		}
	}()
	o.Reply = scripts[c.Script](r, c)
	return o
}

// A run is one run of a script: what it works on, and what it has found out on its way.
type run struct {
	*Server
	Space
	now int64 // ms

	set      []Spot
	fenced   bool // the numbers of the set are at hand
	searches bool // a reader that is not found under its value is searched for

	numbering
	waiting
	messages []Message
}

// A Spot is a key of a set, and what stands beside it: the names of all in Redis. A name that the script was not given is empty.
type Spot struct {
	Key, Line, Fence, Intent string
}

// publish tells those who hear a channel something, and returns how many there are.
func (r *run) publish(sharded bool, channel, text string) int {
	if text != "" {
		r.messages = append(r.messages, Message{sharded, channel, text})
	}
	return r.Heard(sharded, channel)
}

// exists reports whether a key is there.
func (r *run) exists(key string) bool { return r.kind(key) != None }

// hasLine reports whether anything is in one of the lines of the set: waiters, or guards.
func (r *run) hasLine() bool {
	for _, s := range r.set {
		if r.exists(s.Line) {
			return true
		}
	}
	return false
}

// hold writes a key under a value for so many ms.
func (r *run) hold(key string, v Value, ttl int64) { r.Space.set(key, string(v), r.now+ttl) }
