// Package modes is a model of one key that is read and written: readers whose leases end one by one, Upgrade and Downgrade,
// readers that are let in together, and intents. It stands beside convert.go, and beside what docs/waiting.md says of
// Options.Intent and of readers at the front of a line.
//
// # What is modelled
//
// A server (server.go) has the key, as a string or as a sorted set of readers with the ends of their leases and an end of
// its own, one intent, and the line: obtain.lua, rw.lua, refresh.lua, lua/convert.lua, release.lua, lua/include/readers.lua,
// lua/include/refusal.lua and what lua/include/handover.lua does for one key. Up to four processes (process.go) obtain the key, by polling,
// by polling with an intent, or in line; they refresh it once, upgrade or downgrade it once, and release it or let their
// leases end. Time passes in ticks. A conversion may stay without an answer, and a process may be killed while it polls or
// holds the key.
//
// In each state
//   - a writer is alone, and whoever counts on the key has it in that mode and for that long: so the key does not end
//     before the lease of a reader does, and whoever has no answer to a Downgrade or an Upgrade counts on reading;
//   - as long as a writer goes on asking that was refused, and has an intent, no reader that polls gets in;
//   - no intent is left of a writer that has obtained the key or does not ask any more;
//   - nobody in line could have the key, unless it, or one before it, is about to hear that or to ask: so readers at the
//     front go in together, and a Downgrade lets them in.
//
// At the end no two readers wait for each other: an Upgrade is refused at once if somebody else reads.
//
// # What is not
//
// Sets of several keys: package line. An Upgrade does not ask who stands in line, and is not kept out by an intent: here as
// in the library. A request is executed at once and answered at once, but for conversions; late ones are the subject of
// package late. Waiters that are dead, and messages that are lost: package line. A writer that polls more rarely than it
// said, because its process was paused, loses what its intent was for. An intent of another writer replaces the first one;
// here there is one.
//
// # Why it is true of the scripts
//
// TestTied compares each run of a script, as the server of the model does it, with the model server.
package modes

import "github.com/seed-14de3678/redislock/proof/models/explore"

// Groups returns the models of this package.
func Groups() []explore.Group {
	return []explore.Group{{
		Name:     "modes",
		Proves:   "A writer is alone however locks are converted, readers do not wait for each other, and an intent keeps new ones out.",
		Page:     "lease.go",
		Programs: programs,
		Rules: []explore.Rule{
			{Name: blind, Text: "a writer does not look at other readers"},
			{Name: lastComer, Text: "a key that is read ends with the reader that came last"},
			{Name: intentless, Text: "new readers do not look at intents"},
			{Name: shortLived, Text: "an intent ends when its writer asks again"},
			{Name: withdraws, Text: "a writer that does not ask again leaves its intent"},
			{Name: downTells, Text: "a conversion does not hand over"},
			{Name: leftFree, Text: "a reader that gives up leaves a free key to none of the readers behind it"},
			{Name: together, Text: "one of the readers at the front is let in alone"},
			{Name: oneAttempt, Text: "an Upgrade that was refused is tried again until it succeeds"},
			{Name: believes, Text: "a holder goes on to write after a Downgrade without an answer"},
		},
	}}
}

// The rules that can be left out.
const (
	blind      = "blind"
	lastComer  = "lastcomer"
	intentless = "intentless"
	shortLived = "shortlived"
	withdraws  = "withdraws"
	downTells  = "downtells"
	leftFree   = "leftfree"
	together   = "together"
	oneAttempt = "oneattempt"
	believes   = "believes"
)

// A program is who comes, and what may happen.
type program struct {
	name    string
	roles   [procs]role
	kills   int8
	losses  int8
	last    int8
	without string
	// ran is shown each run of a script: what there is before, and the call. It is nil but in the test that ties the model.
	ran func(m *program, before state, c call)
}

func programs(without string) []explore.Program { return shown(without, nil) }

// shown are the programs, which show each run of a script.
func shown(without string, ran func(m *program, before state, c call)) (all []explore.Program) {
	for _, m := range []program{
		{name: "upgrade", last: 5, losses: 1, roles: [procs]role{
			{wants: reads, ttl: 3, converts: true}, {wants: reads, ttl: 2, converts: true}, {wants: writes, ttl: 2, way: queues},
		}},
		{name: "downgrade", last: 5, losses: 1, roles: [procs]role{
			{wants: writes, ttl: 3, converts: true},
			{wants: reads, ttl: 2, way: queues},
			{wants: reads, ttl: 2, way: queues},
			{wants: writes, ttl: 2, way: queues},
		}},
		{name: "intent", last: 5, kills: 1, roles: [procs]role{
			{wants: reads, ttl: 3}, {wants: writes, ttl: 2, way: declares}, {wants: reads, ttl: 2}, {wants: writes, ttl: 2, way: queues},
		}},
		{name: "batch", last: 5, kills: 1, roles: [procs]role{
			{wants: writes, ttl: 2},
			{wants: reads, ttl: 3, way: queues},
			{wants: reads, ttl: 2, way: queues},
			{wants: writes, ttl: 2, way: queues},
		}},
	} {
		m.without, m.ran = without, ran
		s := state{kills: m.kills, losses: m.losses}
		all = append(all, explore.Model[state]{Name: m.name, Start: s, Next: m.next, Wrong: m.isWrong, End: end})
	}
	return all
}
