// Package lease is models of what a holder may count on while time passes: a lock of one key at one server, its window, its
// renewals, the moment at which a loss is told, and fencing numbers. They stand beside the package comment of redislock, which
// says what a window is, and that of package fencing.
//
// # What is modelled
//
// A server (server.go) has one key and the greatest fencing number. Two clients obtain the lock, hold it, renew it, write to
// a resource (resource.go), and release it or lose it (client.go), once or twice each. Every request and every answer is
// under way for as long as it likes, and a renewal or its answer may be lost. A client may take any time before each of its
// steps, also between the moment at which it sees that it holds the lock and the moment at which it writes. One that is
// paused takes none, and time passes even though it is to be told of its loss.
//
// Time (clock.go) passes in ticks, and nothing bounds how many there are: a lease and an age are numbers that each tick makes
// smaller or greater. A lease lasts for four ticks of the clock of the server. The clock of a client stands still for a tick
// now and then, at most once in anything that it measures, which is the drift that the margin is for: a client counts on
// one tick less than the lease, from before it has sent its request.
//
// In each state
//   - at most one client is in its window: from the answer until its deadline, its Release, or its loss;
//   - a window that has ended does not go on;
//   - a client that is not paused knows of its loss when its deadline comes;
//   - the resource has taken no write of a hold after one of a hold that was granted later, and has refused none of the
//     hold that was granted last.
//
// In some programs the server's clock goes back, or the server loses its data. What is still promised then is asked of them.
//
// # What is not
//
// Requests that are executed after their client has given them up: package late. A client here gives up an Obtain with a
// release that nothing loses, and the Obtain that was not executed by then is not executed any more. Waiting and lines,
// sets of keys, readers, a Refresh to a shorter lease, replicas. The alarm is as exact as a tick: a client that is not
// paused hears it before its deadline. A wall clock that is set, and a machine that sleeps, are what makes a clock here go faster, which ends
// windows sooner.
//
// # What cannot be promised
//
// Four of the rules are no rules of the library, but of its surroundings: the documentation says what happens without them,
// and here it happens. A resource that compares no numbers takes the late write of a holder that was paused (unfenced).
// Two windows overlap if the server's clock jumps ahead (jumps), if the server loses its data (forgets), or if a clock drifts
// by more than the margin (drifts).
//
// # Why it is true of the scripts
//
// TestTied compares each run of a script, as the server of the model does it, with the model server.
package lease

import "github.com/seed-14de3678/redislock/proof/models/explore"

const page = "client.go"

// Groups returns all models of leases.
func Groups() []explore.Group {
	return []explore.Group{
		{
			Name:     "lease-windows",
			Proves:   "windows of locks that conflict never overlap, and the holder is told of a loss no later than its deadline",
			Page:     page,
			Programs: programs(windows),
			Rules: rules.Of(
				fromReply, noMargin, extendsLate, revives, onAnswer, takesAny, freesAny, jumps, loses, drifts,
			),
		},
		{
			Name:     "lease-fencing",
			Proves:   "the resource takes no write of a hold after one of a later hold, and none of the newest hold is refused",
			Page:     "fencing/doc.go",
			Programs: programs(fenced),
			Rules:    rules.Of(unfenced, greater, twoSteps, notStored, forgotten, fromOne),
		},
	}
}

// windows returns the programs about the windows: nobody writes in them.
func windows() []model {
	return []model{
		{name: "renewals", rounds: [clients]int8{1, 1}, renewals: [clients]int8{1, 0}},
		{name: "short holds", rounds: [clients]int8{2, 2}},
		{name: "clock goes back", rounds: [clients]int8{2, 2}, back: true},
		{name: "renewals, clock goes back", rounds: [clients]int8{1, 1}, renewals: [clients]int8{1, 0}, back: true},
		{name: "renewals, three holds", rounds: [clients]int8{2, 1}, renewals: [clients]int8{1, 0}},
		{name: "both renew", rounds: [clients]int8{1, 1}, renewals: [clients]int8{1, 1}},
		{name: "two renewals", rounds: [clients]int8{1, 1}, renewals: [clients]int8{2, 0}},
	}
}

// fenced returns the programs about the resource.
func fenced() []model {
	return []model{
		{name: "one write", rounds: [clients]int8{1, 1}, writes: 1},
		{name: "clock goes back", rounds: [clients]int8{1, 1}, writes: 1, back: true},
		{name: "data is lost", rounds: [clients]int8{1, 1}, writes: 1, lost: true},
		{name: "two writes", rounds: [clients]int8{1, 1}, writes: 2},
		{name: "renewals", rounds: [clients]int8{1, 1}, writes: 1, renewals: [clients]int8{1, 0}},
		{name: "three holds", rounds: [clients]int8{1, 2}, writes: 1},
		{name: "three holds, clock goes back", rounds: [clients]int8{1, 2}, writes: 1, back: true},
		{name: "three holds, data is lost", rounds: [clients]int8{1, 2}, writes: 1, lost: true},
	}
}

// A model is a program, and what may happen to it.
type model struct {
	name     string
	rounds   [clients]int8 // how often each client obtains the lock
	renewals [clients]int8 // how many of a hold of a client are under way at most
	writes   int8          // how many a hold sends at most
	back     bool          // the clock of the server may go back once
	lost     bool          // the server may lose its data once: windows overlap then, and are not looked at

	without rule
	// ran is shown each run of a script: what there is before, and the call. It is nil but in the test that ties the model.
	ran func(m model, before server, c call)
}

// programs makes programs of models.
func programs(of func() []model) func(string) []explore.Program {
	return func(without string) []explore.Program { return shown(of(), without, nil) }
}

// shown makes programs of models, which show each run of a script.
func shown(of []model, without string, ran func(m model, before server, c call)) (all []explore.Program) {
	for _, m := range of {
		m.without, m.ran = rules.Named(without), ran
		all = append(all, explore.Model[state]{Name: m.name, Start: m.start(), Next: m.next, Wrong: m.check})
	}
	return all
}
