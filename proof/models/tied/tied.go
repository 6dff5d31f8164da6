// Package tied ties models to the model server. Each model has a server of its own, which knows only what the model is about.
// Whatever such a server does, the model server has to do as well: then what the model proves is true of the scripts, because the
// model server is compared with these by a fuzz test of its own.
//
// A model shows each run of a script to a [Tie] while its states are explored: what its server has before, and the call. The Tie
// remembers the distinct ones. Then the model says of each what it makes of it, as a [Case], in terms of locks:
//
//	world.go  what a server has: holds, waiters, guards, numbers, intents
//	call.go   how a script is called, and what it replies
//	told.go   what it tells waiters
//	store.go  how a world is written down as the keys of a server, and read back
//	tie.go    which runs are compared
//
// [Case.Difference] writes the world down, runs the script on the model server, reads back what there is, and says by what that
// differs from what the model has done.
package tied

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/proof/server"
)

// A Case is one run of a script, and what comes of it in a model.
type Case struct {
	Wishes []Wish // of all who may stand in line
	Before World
	Deaf   []string      // waiters whose channels nobody hears, by id
	Up     time.Duration // for how long the server has been up; 0: for very long
	Call   Call
	Want   Outcome
	// Coarse takes out of an outcome what the model says nothing of. It is called for both outcomes; nil: the model says all of it.
	Coarse func(o *Outcome)
}

// ByAnybody is the Coarse of a model that does not say whom a refusal names.
func ByAnybody(o *Outcome) { o.Reply.InTheWay = nil }

// An Outcome is what comes of a run of a script.
type Outcome struct {
	Reply Reply
	After World
	Told  []Told
}

// Script is the name of the script.
func (c Case) Script() string { return c.Call.run().Script().Name() }

// Difference says by what the model and the model server differ; nothing if they do not.
func (c Case) Difference() string {
	want, got := c.Want, c.Run()
	for _, o := range []*Outcome{&want, &got} {
		if c.Coarse != nil {
			c.Coarse(o)
		}
		o.After.settle()
		o.Told = inOneForm(o.Told)
	}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return fmt.Sprintf("%v\n%v\nthe model (-) and the model server (+):\n%s", c.Before, c.Call, cmp.Diff(want, got))
}

// Run runs the script on the model server.
func (c Case) Run() Outcome {
	all := castOf(c.Wishes)
	heard := func(channel string) bool {
		return !slices.ContainsFunc(c.Deaf, func(id string) bool { return all[id].channel() == channel })
	}
	s := &server.Server{Space: all.write(c.Before), Micros: (begin + c.Before.Now).Microseconds(), Up: int64(c.Up.Seconds())}
	if c.Up == 0 {
		s.Up = 1 << 30
	}
	s.Heard = func(_ bool, channel string) int {
		if heard(channel) {
			return 1
		}
		return 0
	}
	o := s.Run(c.Call.words())
	return Outcome{c.Call.replyOf(o), all.read(s.Space, c.Before.Now), all.toldOf(o.Messages, c.Before.Now, heard)}
}
