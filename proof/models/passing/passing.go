// Package passing is models of a hold that is passed on inside a process: Options.PassOn. They stand beside docs/waiting.md.
// Package local has the lines in which the callers wait.
//
// # What is modelled
//
// A server (server.go) has one set of keys as one key, with its lease, the greatest fencing number, a line, and guards. Up to
// three callers of a Client (client.go, next.go) obtain the key once each. The first of them holds it at the start. A Release of
// one that holds it passes the hold on to the local next, if it may; else it goes to Redis, and carries the next, if that has
// never asked. A goroutine to which a hold was passed on wakes at any later moment, and looks at the clocks. A hold takes a few
// fencing numbers at once if somebody waits, and its Release writes the last one back that was used. Callers of another Client
// stand in line. Time passes in ticks, also while the machine sleeps and its monotonic clock stands still. Besides
//   - a Release, or its answer, is lost, or the Release is executed late;
//   - a renewal is under way for as long as it likes;
//   - a holder gives a part of its set back, tells another process its token, or raises the fencing number and hears nothing;
//   - that other process releases with the token, or raises the number;
//   - a Release leaves the key for a tick;
//   - a caller that has never asked gives up, and names who has the key;
//   - the hold is broken;
//   - the next asks for a shorter ttl and no passing on;
//   - the process is killed.
//
// In each state
//   - one caller has the hold at most, its deadline is no later than the lease in Redis, and it holds the whole set until then, unless
//     it was broken;
//   - a lock that was passed on has at least half of the ttl left when it is passed on, and when it is returned, and its loss was
//     not told by then;
//   - a hold is passed on for no longer than PassOn after the server has given it, to the first of those that wait, and the
//     server gives it to nobody while somebody stands in line that came before: so others wait one PassOn longer for each turn;
//   - fencing numbers grow from hold to hold, and are greater than each that RaiseFence has named;
//   - the key is locked for somebody who has it, is about to, or is about to free it; but for a hold that was lost or whose process
//     was killed, which ends with its lease;
//   - a conflict that is named is one since the caller has come;
//   - a key that was left is nobody's before its time is over;
//   - the hooks have counted one lock at most.
//
// When nothing can happen any more nobody waits for a key that is free.
//
// # What is not
//
// Callers that give up after they have asked, or are carried: package local. A machine that sleeps longer than a tick. Drift: a
// deadline here is the whole ttl after its request. A server that loses its numbers, and how fast they grow beside its clock.
// Two Releases of one Client at once: the model knows one, and another one that is late. That at least half of the ttl is left
// follows from a PassOn of at most half of it when a hold is passed on; only whoever wakes late has to look.
//
// # Why it is true of the scripts
//
// It is a model of what happens inside a process. Its server is not compared with the scripts. The Release that carries is: by the
// matrix, and by the courses that the model server and the scripts play.
package passing

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A rule is one that can be left out.
type rule int8

const (
	none rule = iota
	ends
	anew
	fromReturn
	wakes
	clocks
	asksLoss
	fixed
	inOrder
	neverAsked
	touched
	secret
	silent
	oneState
	whosever
	itsOwn
	fromTry
	laterTry
	writesBack
	blockEnds
	raised
	knows
	leaves
	fresh
	lives
	onItsWay
	hooks
)

var rules = explore.Table[rule]{
	ends:       {Name: "ends", Text: "passing on never ends"},
	anew:       {Name: "anew", Text: "each pass begins the time of passing on anew"},
	fromReturn: {Name: "fromreturn", Text: "the time of passing on is counted from the answer"},
	wakes:      {Name: "wakes", Text: "whoever wakes with a hold does not look at the clocks"},
	clocks:     {Name: "clocks", Text: "only the monotonic clock is looked at"},
	asksLoss:   {Name: "asksloss", Text: "whoever wakes with a hold does not look whether it was lost meanwhile"},
	fixed:      {Name: "fixed", Text: "a pass moves the deadline"},
	inOrder:    {Name: "inorder", Text: "a hold is passed on to the first that matches it"},
	neverAsked: {Name: "neverasked", Text: "a hold is passed on to one that stands in line"},
	touched:    {Name: "touched", Text: "a hold is passed on of which a part was given back"},
	secret:     {Name: "secret", Text: "a hold is passed on although its token was told"},
	silent:     {Name: "silent", Text: "a Lock that was passed on still sends its Release"},
	oneState:   {Name: "onestate", Text: "a hold is passed on to one that has decided to give up"},
	whosever:   {Name: "whosever", Text: "a renewal moves the deadline of whatever hold there is"},
	itsOwn:     {Name: "itsown", Text: "a renewal moves only the deadline of the Lock that has sent it"},
	fromTry:    {Name: "fromtry", Text: "the deadline of the next counts from the answer to the Release"},
	laterTry:   {Name: "latertry", Text: "a later try of a Release carries the next as well, and its deadline counts from that"},
	writesBack: {Name: "writesback", Text: "a Release writes its number back although its hold is gone"},
	blockEnds:  {Name: "blockends", Text: "a hold is passed on although its numbers are used up"},
	raised:     {Name: "raised", Text: "a Release writes back a number that is smaller than one that RaiseFence has named"},
	knows:      {Name: "knows", Text: "a Release writes back a number although another process, which knows the token, may have raised it"},
	leaves:     {Name: "leaves", Text: "a Release that leaves its keys passes them on"},
	fresh:      {Name: "fresh", Text: "a waiter that gives up names a conflict older than its arrival"},
	lives:      {Name: "lives", Text: "a waiter that gives up names a holder whose deadline is over"},
	onItsWay:   {Name: "onitsway", Text: "a waiter that gives up names a holder whose Release is under way"},
	hooks:      {Name: "hooks", Text: "the end of the old lock is told after the next one was obtained"},
}

// A role is what a caller asks for.
type role struct {
	ttl     int8
	matches bool // the ttl and the options of the others
}

// A program is who comes, and what may happen. The first caller holds the key at the start.
type program struct {
	name   string
	roles  [callers]role
	passOn int8
	block  int8 // numbers that a hold takes at once
	waits  bool // the second caller waits at the start
	last   int8 // tick
	budget
	without rule
}

// Groups returns the models of this package.
func Groups() []explore.Group { return GroupsWith(0) }

// GroupsWith returns the same models, with so many more ticks.
func GroupsWith(more int) []explore.Group {
	return []explore.Group{{
		Name:     "passing",
		Proves:   "A hold that is passed on inside a process is held by one, for as long as Redis has it, and in its turn.",
		Page:     "docs/waiting.md#standing-in-line",
		Programs: func(without string) []explore.Program { return programs(rules.Named(without), more) },
		Rules: rules.Of(
			ends, anew, fromReturn, wakes, clocks, asksLoss, fixed, inOrder, neverAsked, touched, secret, silent, oneState, whosever,
			itsOwn, fromTry, laterTry, writesBack, blockEnds, raised, knows, leaves, fresh, lives, onItsWay, hooks,
		),
	}}
}

// programs are what is searched, without one rule.
func programs(without rule, more int) (all []explore.Program) {
	same := [callers]role{{4, true}, {4, true}, {4, true}}
	two := [callers]role{{4, true}, {4, true}}
	mixed := [callers]role{{4, true}, {2, false}, {4, true}}
	shorter := [callers]role{{4, true}, {2, false}}
	for _, m := range []program{
		{name: "turns", roles: same, passOn: 1, block: 1, last: 4, budget: budget{others: 1, cancels: 1}},
		{name: "clocks", roles: two, passOn: 2, block: 1, last: 6, budget: budget{renewals: 1, sleeps: 1}},
		{name: "mixed", roles: mixed, passOn: 2, block: 1, last: 3},
		{name: "shorter", roles: shorter, passOn: 2, block: 1, last: 5, budget: budget{renewals: 1, losses: 1}},
		{name: "lost", waits: true, roles: two, passOn: 1, block: 2, last: 5, budget: budget{losses: 1, others: 1}},
		{name: "numbers", waits: true, roles: same, passOn: 2, block: 2, last: 4, budget: budget{others: 1, raises: 1}},
		{name: "handles", waits: true, roles: two, passOn: 2, block: 2, last: 3, budget: budget{touches: 1, tokens: 1, talks: 1, raises: 1}},
		{name: "left", roles: two, passOn: 2, block: 1, last: 6, budget: budget{leaves: 1, cancels: 1}},
		{name: "broken", roles: two, passOn: 2, block: 1, last: 3, budget: budget{breaks: 1, renewals: 1, others: 1}},
		{name: "killed", roles: two, passOn: 1, block: 1, last: 5, budget: budget{kills: 1, others: 1, renewals: 1}},
	} {
		m.last += int8(more)
		m.without = without
		all = append(all, explore.Model[state]{Name: m.name, Start: m.start(), Next: m.next, Wrong: m.isWrong, End: m.end})
	}
	return all
}

func (m *program) start() (s state) {
	s.left = m.budget
	s.came = 1
	s.callers[0] = caller{phase: holding, arrived: 1}
	if m.waits {
		s.came = 2
		s.callers[1] = caller{phase: local, arrived: 2}
	}
	x := script{&s, m}
	x.grant(1)
	x.obtained(0, 0)
	return s
}
