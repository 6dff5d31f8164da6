// Package line is a model of waiters that stand in line. It stands beside docs/waiting.md, which says that they are served
// first come, first served, in the same order for sets that overlap, and that nothing depends on a message arriving.
//
// # What is modelled
//
// A server (script.go) has up to three keys, with their holders and their lines. It executes rw.lua, release.lua, lua/again.lua
// and lua/include/handover.lua (handover.go) with lua/include/line.lua: with which keys a script has at hand and which it has not, who is
// dropped, who is told to ask, who is granted its keys, and who is told when the lease before it is over. Up to four
// processes (process.go) each obtain a set of write and read keys once, as line.go has it: they ask, take in replies, hear
// messages, and release. The first of them holds its set at the start. Between any two steps of one process anything may
// happen to the others:
//   - a message is lost; a request is lost, or stays without an answer and is executed late; a reply is lost;
//   - a process gives up, while it asks or is granted its keys, and its clean-up is executed later;
//   - a process is killed. Its connection is gone later, and its entries end still later;
//   - a living one hears nothing for a while, or is silent for so long that its entries end;
//   - a lease ends in the hands of its holder, or before that one has heard of the grant;
//   - the server's clock is set back, so that the time is no place behind all others.
//
// In some programs whoever has heard nothing asks every now and then, as the first eight waiters of a Client do; in others
// rounds ask for all. In those that are called "told" nobody does either: there what scripts publish has to be enough.
//
// In each state
//   - no two hold locks that exclude each other, and whoever counts on a lock has it in Redis;
//   - nobody was granted a lock while somebody else waited in all its lines who had come before, was alive, could be heard,
//     and wanted one of the keys, in a mode that excludes the other. Whoever has lost its place and takes it again has come
//     when it came;
//   - nothing is left of one that has given up, once its clean-up was answered;
//   - if nobody asks by itself, whoever has nothing in its way is being told, or asks; or a reader before it is, or does.
//
// From each state a way leads to one in which nothing can happen any more, and there nobody waits.
//
// # What is not
//
// How scripts find things out: the short cuts, the fronts and heads that lua/include/line.lua remembers, entries as text. So a script
// may not tell one that it has refused when the lease of a key is over which is not in its way: here it does. Guards: a
// request that was not answered does nothing once the next one of its waiter was executed, which the models of late
// requests prove. Tokens that hold a part of what they wait for. Messages that travel in the reply of a release. Releases
// that are lost: they are repeated, so they only come later. Fencing numbers, replicas, slots, rights, memory. Time: a
// lease ends, or a waiter asks, at any moment; how long 5 s and 15 s are is not asked. A server that loses the lines: each
// waiter takes its place anew, in the order in which they ask. Rounds for several waiters: here a script asks for one of them.
//
// # Why it is true of the scripts
//
// TestTied compares each run of a script, as the server of the model does it, with the model server.
package line

import "github.com/seed-14de3678/redislock/proof/models/explore"

// Groups returns the models of this package.
func Groups() []explore.Group {
	return []explore.Group{{
		Name:     "queue",
		Proves:   "Waiters are served first come, first served, also for sets that overlap, and no wake-up is lost.",
		Page:     "docs/waiting.md#standing-in-line",
		Programs: programs,
		Rules: []explore.Rule{
			{Name: wholeSet, Text: "a script grants a lock without looking at the keys of the set that it does not have"},
			{Name: handOver, Text: "a release does not hand over"},
			{Name: deadHeads, Text: "a waiter that is dead is not dropped"},
			{Name: asksAgain, Text: "a waiter that has heard nothing does not ask again"},
			{Name: rounds, Text: "a round does not find out that nothing is in the way of a waiter"},
			{Name: cleansUp, Text: "a waiter that gives up does not leave its lines"},
			{Name: closes, Text: "a clean-up does not close the request that was under way"},
			{Name: places, Text: "the place in line is the time, although others stand there already"},
			{Name: overlap, Text: "only in the line of its first key a waiter lets others go first"},
			{Name: ended, Text: "an answer counts that comes when the lease is over"},
			{Name: leftFree, Text: "a reader that gives up leaves a free key to none of the readers behind it"},
		},
	}}
}

// programs are what is searched, without one rule.
func programs(without string) []explore.Program { return shown(without, nil) }

// shown are the programs, which show each run of a script.
func shown(without string, ran func(m *program, before state, c call)) (all []explore.Program) {
	overlapping := [procs]want{writes(a | b), writes(a), writes(a | b), writes(b)}
	reading := [procs]want{writes(a), reads(a), writes(a), reads(a)}
	mixed := [procs]want{{writes: a, reads: b}, reads(a | b), {writes: b, reads: a}, reads(b)}
	circle := [procs]want{writes(a | b | c), writes(a | b), writes(b | c), writes(a | c)}
	for _, m := range []program{
		{name: "rounds, readers", wants: reading, rounds: true, long: true, budget: budget{messages: 2, kills: 1}},
		{name: "told, overlapping", wants: overlapping, budget: budget{cancels: 2}},
		{name: "told, readers", wants: reading, budget: budget{cancels: 2}},
		{name: "told, mixed", wants: mixed, budget: budget{cancels: 1}},
		{name: "told, circle", wants: circle, budget: budget{cancels: 1}},
		{name: "clock", wants: circle, asks: true, long: true, budget: budget{steps: 2}},
		{name: "lease ends", wants: overlapping, budget: budget{ends: 1, cancels: 1}},
		{name: "lease ends, readers", wants: reading, budget: budget{ends: 1, cancels: 1}},
		{name: "lost", wants: overlapping, asks: true, long: true, budget: budget{messages: 2, answers: 1, cancels: 1}},
		{name: "rounds", wants: overlapping, rounds: true, long: true, budget: budget{messages: 1, kills: 1, cuts: 1}},
		{name: "silent", wants: mixed, asks: true, long: true, budget: budget{pauses: 2, cuts: 1}},
		{name: "cut, mixed", wants: mixed, asks: true, budget: budget{cuts: 1, pauses: 1}},
		{name: "lost, circle", wants: circle, asks: true, budget: budget{messages: 1, ends: 1, cancels: 1}},
		{name: "killed, mixed", wants: mixed, asks: true, long: true, budget: budget{kills: 1, answers: 1, cancels: 1}},
		{name: "killed, readers", wants: reading, asks: true, long: true, budget: budget{kills: 2, cuts: 1}},
		{name: "killed", wants: overlapping, asks: true, budget: budget{kills: 2, answers: 1}},
	} {
		m.holders, m.without, m.ran = one(0), without, ran
		all = append(all, m.model())
	}
	return all
}
