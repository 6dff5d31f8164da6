package wire

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A command is one command on its way to Redis: a call, or a bundle of plain ones.
type command interface {
	redis.Cmder
	script() *Script
	context() context.Context
	calls() []*Call
	// cmd returns the command of the latest try.
	cmd() *redis.Cmd
	// prepare makes the command of the next try: with the name of the script, or with its source if the server does not
	// know it.
	prepare(sent clock.Moment, withSource bool)
	// answered hands the answer to the calls.
	answered()
}

const (
	bundleKeys = 512 // most keys of a bundle, which hold the server for about half a millisecond
	plainKeys  = 64  // most keys of a call that goes into one
)

// A Bundle is the script that does many plain calls, and how it is called. It replies with an array: one entry for each
// call.
type Bundle struct {
	Script *Script
	Append func(to []any, calls []*Call) []any // as Append of a Run
	Done   any                                 // a call was done; it is its reply, too
	Undone any                                 // nothing of it was done: its own script has to do it, or to refuse it
}

// errUndone marks a call that was not done together with others: it has to be sent by itself.
var errUndone = errors.New("redislock: not done with others")

// A bundle is many plain calls in one run of the bundle script. All of them pay once for most of what a script costs
// the server, and for much of what a command costs on both sides.
type bundle struct {
	redis.Cmd
	of     *Bundle
	inside []*Call
	keys   int
}

// commands makes commands of a batch: bundles of plain calls if they may share a script, and one command for all calls that
// are alike. If the lane is tagged, it makes bundles of calls with the same hash tag. In a bundle the calls that take come
// first: a script that has written is not refused for want of memory any more.
func (l *lane) commands(batch []*Call, share bool) []command {
	commands := make([]command, 0, 4)
	var open *bundle
	var byTag map[string]*bundle
	if l.tagged {
		byTag = make(map[string]*bundle)
	}
	var likes likeness
	add := func(c *Call) {
		keys := c.Run.Keys()
		if l.tagged {
			open = byTag[slot.Tag(keys[0])]
		}
		if open == nil || open.keys+len(keys) > bundleKeys {
			open = &bundle{of: l.bundle, inside: make([]*Call, 0, len(batch))}
			commands = append(commands, open)
			if l.tagged {
				byTag[slot.Tag(keys[0])] = open
			}
		}
		open.inside = append(open.inside, c)
		open.keys += len(keys)
	}
	for _, c := range batch {
		switch {
		case !share || !c.isPlain():
			if likes == nil {
				likes = make(likeness)
			}
			if s := likes.single(c); s != nil {
				commands = append(commands, s)
			}
		case c.Run.Takes():
			add(c)
		}
	}
	for _, c := range batch {
		if share && c.isPlain() && !c.Run.Takes() {
			add(c)
		}
	}
	for i, p := range commands {
		if b, ok := p.(*bundle); ok && len(b.inside) == 1 {
			commands[i] = newSingle(b.inside[0])
		}
	}
	return commands
}

// misplaced reports whether a bundle had keys of several Cluster slots.
func misplaced(p command) bool {
	_, is := p.(*bundle)
	return is && p.Err() != nil && redis.HasErrorPrefix(p.Err(), "CROSSSLOT")
}

// NoRetry keeps go-redis from sending the command again.
func (b *bundle) NoRetry() bool { return true }

func (b *bundle) script() *Script          { return b.of.Script }
func (b *bundle) context() context.Context { return context.Background() }
func (b *bundle) calls() []*Call           { return b.inside }
func (b *bundle) cmd() *redis.Cmd          { return &b.Cmd }

func (b *bundle) prepare(sent clock.Moment, withSource bool) {
	for _, c := range b.inside {
		c.Sent = sent
	}
	name, what := b.of.Script.invocation(withSource)
	args := append(make([]any, 0, 3+2*b.keys+3*len(b.inside)), name, what)
	b.Cmd = *redis.NewCmd(b.context(), b.of.Append(args, b.inside)...)
}

func (b *bundle) answered() {
	err := b.Err()
	done, _ := b.Val().([]any)
	if len(done) != len(b.inside) {
		done = make([]any, len(b.inside))
	}
	for i, c := range b.inside {
		switch {
		case err == nil && done[i] == b.of.Done:
			c.Reply, c.Err = done[i], nil
		case err == nil && done[i] == b.of.Undone:
			c.Err = errUndone
		case err == nil, Classify(err) == Final:
			// The error stands for any of the calls, and the script may have done some of them. So may anything that
			// gives a reply which the script cannot give.
			if c.Err = errUndone; !refusedWhole(err) {
				c.noteUnanswered()
			}
		default:
			c.Err = err
		}
	}
}

// One call stands for others that go out with it. Callers of one process that wait for the same keys ask for them again
// and again, and often at the same time. Then one of them is told who is in the way, and its answer serves the others.
// The call is sent after all of them were asked for, so it is as true for them.

// A likeness finds the calls of a batch that are alike. It has their commands by first key.
type likeness map[string][]*single

// single makes a command of a call; nil if one that it has made before stands for the call.
func (l likeness) single(c *Call) *single {
	if !c.Alike || c.IsUnanswered() { // an earlier try of it may have been granted
		return newSingle(c)
	}
	first := c.Run.Keys()[0]
	for _, s := range l[first] {
		if s.call.Run.Script() == c.Run.Script() && s.call.Run.IsLike(c.Run) {
			s.alike = append(s.alike, c)
			return nil
		}
	}
	s := newSingle(c)
	l[first] = append(l[first], s)
	return s
}

// answerAlike hands a refusal or an error to the calls that are alike. Any other answer is about one call alone. So is
// the error of a call with a caller that has gone, which has ended its try. Then the others are sent by themselves.
func (s *single) answerAlike() {
	gone := s.call.IsAbandoned() || errors.Is(s.call.Err, ErrNotSent)
	forAll := s.call.Err != nil && !gone || s.call.Err == nil && s.call.Run.IsRefusal(s.call.Reply)
	for _, c := range s.alike {
		if c.Reply, c.Err = s.call.Reply, s.call.Err; !forAll {
			c.Reply, c.Err = nil, errUndone
		}
	}
	s.alike = nil
}
