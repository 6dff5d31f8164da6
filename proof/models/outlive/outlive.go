// Package outlive is models of keys that outlive their lock, and of Break. They stand beside docs/leaving.md and beside
// docs/operating.md#break-a-lock.
//
// # What is modelled
//
// A server (server.go) has one key, its fencing number, one waiter in its line, and the guard of a Break: release.lua,
// refresh.lua and lua/break.lua. The holder (next.go) renews its lock, crashes, or releases it, by a Release with HoldAtLeast
// or by a Leave. The release may stay without an answer and be executed later; then clean-ups follow, each with what is
// left of the time. Somebody stands in line, and asks when it is told or when the lease that it knows of is over. Somebody
// else passes by, and obtains the key if it is free and nobody waits. A Break may be sent twice, each of the two is
// executed at any later moment, and its caller may stop waiting; then its clean-up closes it. Time passes in ticks.
//
// In each state
//   - once a release was executed, nobody has got the key before the time of HoldAtLeast or of the Leave, unless it was
//     broken;
//   - a key that was left ends when the request that has left it said, and no other request of the holder changes that; it
//     said no more than what was left of the time when it was sent;
//   - a Break is done once at most, however often it was sent, and never once its clean-up was answered;
//   - the key is not free while nobody tells the waiter: it is handed over by a Break and a Release, and the waiter is told
//     when a key that was left is free;
//   - fencing numbers grow;
//   - a holder does not lose the key unless it is broken, and one that has asked since then has learned of it. It is told
//     once, and by its deadline.
//
// # What is not
//
// A holder that crashes before its Release leaves nothing: the key is free when its ttl is over, here as in the library.
// Messages to the waiter are heard at once; package line loses them. A notice of a Break may be lost, but not invented.
// Readers, several keys, several holds of one token. A request that comes after a guard has ended. Guards against late requests
// of the holder, which package late has: here these do no harm without any.
//
// # What cannot be promised
//
// A Break without an answer may be done as long as its clean-up was not answered either, so also after its caller was told
// that the outcome is unknown; whoever holds the key by then loses it. The model allows that: it asks that this happens
// once.
//
// # Why it is true of the scripts
//
// TestTied compares each run of a script, as the server of the model does it, with the model server.
package outlive

import "github.com/seed-14de3678/redislock/proof/models/explore"

// Groups returns the models of this package.
func Groups() []explore.Group {
	return []explore.Group{{
		Name:     "outlive",
		Proves:   "A key that was left is nobody's before its time is over, whatever the holder still sends.",
		Page:     "docs/leaving.md#what-a-left-key-is",
		Programs: leaving,
		Rules: []explore.Rule{
			{Name: token, Text: "the value of a key that was left has its token still"},
			{Name: keeps, Text: "the clean-up of a Release frees the key"},
			{Name: rest, Text: "each try of a Release leaves the key for the whole time"},
			{Name: whose, Text: "a renewal does not look whose the key is"},
			{Name: tells, Text: "whoever stands first in line is not told when the time is over"},
		},
	}, {
		Name:     "break",
		Proves:   "A Break is done once at most, hands the key over, and the holder learns of it.",
		Page:     "docs/operating.md#break-a-lock",
		Programs: breaks,
		Rules: []explore.Rule{
			{Name: guards, Text: "a Break sets no guard against its other tries"},
			{Name: closes, Text: "a Break without an answer is not closed"},
			{Name: handsOver, Text: "a Break does not hand over"},
			{Name: learns, Text: "the holder does not mind that its keys are not its own"},
			{Name: forgets, Text: "a Break forgets the greatest fencing number"},
		},
	}}
}

// The rules that can be left out.
const (
	token     = "token"
	keeps     = "keeps"
	rest      = "rest"
	whose     = "whose"
	tells     = "tells"
	guards    = "guards"
	closes    = "closes"
	handsOver = "handsover"
	learns    = "learns"
	forgets   = "forgets"
)

// A program is what may happen.
type program struct {
	name        string
	ttl         int8
	holdAtLeast int8 // until this tick
	leaves      int8 // for so long
	releases    bool
	breaks      bool
	last        int8
	budget
	without string
	// ran is shown each run of a script: what there is before, and the call. It is nil but in the test that ties the model.
	ran func(m *program, before state, c call)
}

func leaving(without string) []explore.Program { return shown(without, nil, leavingPrograms()...) }

func breaks(without string) []explore.Program { return shown(without, nil, breakPrograms()...) }

// leavingPrograms are those in which a key is left.
func leavingPrograms() []program {
	return []program{
		{
			name: "hold at least", ttl: 2, holdAtLeast: 4, releases: true, last: 7,
			budget: budget{renewals: 2, losses: 2, passes: 1},
		},
		{name: "leave", ttl: 4, leaves: 2, releases: true, last: 7, budget: budget{renewals: 1, losses: 2, passes: 1}},
		{name: "both", ttl: 3, holdAtLeast: 2, leaves: 1, releases: true, last: 6, budget: budget{renewals: 2, losses: 2}},
	}
}

// breakPrograms are those in which the lock is broken.
func breakPrograms() []program {
	return []program{
		{name: "held", ttl: 2, breaks: true, last: 4, budget: budget{renewals: 2, losses: 1, passes: 1}},
		{name: "released", ttl: 2, releases: true, breaks: true, last: 4, budget: budget{losses: 1, passes: 1}},
		{name: "left", ttl: 2, leaves: 3, releases: true, breaks: true, last: 5, budget: budget{losses: 1, passes: 1}},
	}
}

// shown are programs, which show each run of a script.
func shown(without string, ran func(m *program, before state, c call), programs ...program) (all []explore.Program) {
	for _, m := range programs {
		m.without, m.ran = without, ran
		all = append(all, explore.Model[state]{Name: m.name, Start: m.start(), Next: m.next, Wrong: m.isWrong, End: end})
	}
	return all
}
