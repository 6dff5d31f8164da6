// Package renewal models one lock while it is renewed, refreshed and released, with requests that stay without an answer
// and are executed later. It proves what [redislock.Lock.Refresh], the watchdog and [redislock.Lock.Release] say of that: a
// renewal that is under way brings no released lock back and extends nobody else's, a lock counts on no lease that it may
// not have, a loss is told once and by the deadline, and a Release without an answer goes on.
//
// # What is modelled
//
// A server (server.go) has one key, with its owner, the end of its lease, and a guard: refresh.lua, release.lua,
// lua/include/guard.lua. A handle (handle.go) is a Lock, as lease.go, watch.go, release.go and cleanup.go have it: its deadline,
// the Refresh that is under way, its watch, its Release. Requests get numbers and close earlier ones as internal/owners and
// guard.go say. Two handles of one process may have the same token (Client.Attach). Somebody else takes the key as soon as
// it is free. Time passes in ticks, at any moment; a lease begins when its request is executed, a deadline when it was
// sent.
//
// In each state (check.go)
//   - Redis has a lease at least as long as a lock counts on, unless another handle of its token has released;
//   - what was released is not held again, and the lease of somebody else is the one that it was given;
//   - a lock that is lost was told once, and no lock is held when its deadline comes;
//
// and in each state from which nothing can happen any more, what was released is free, although its lease has not ended.
//
// # What is not
//
// Clocks that drift, or are set, and processes that are paused: that is the model of leases. Several keys, readers, lines.
// An Obtain under the same token, and handles in several processes: that is the model of late requests. A Refresh to a
// shorter ttl shortens the lease for all handles of its token, which are not told: so docs/clients.md
// says, and the second handle does no such thing here. A clean-up ends when it was answered; that it ends with the lease is
// not modelled.
//
// # Why it is true of the scripts
//
// TestTied compares each run of a script, as the server of the model does it, with the model server.
//
// [redislock.Lock.Refresh]: https://pkg.go.dev/github.com/seed-14de3678/redislock#Lock.Refresh
// [redislock.Lock.Release]: https://pkg.go.dev/github.com/seed-14de3678/redislock#Lock.Release
package renewal

import "github.com/seed-14de3678/redislock/proof/models/explore"

// Groups returns the models of this package.
func Groups() []explore.Group {
	return []explore.Group{{
		Name:     "renewal",
		Proves:   "A renewal under way brings no released lock back, and a lock counts on no lease that it may not have.",
		Page:     "lock.go",
		Programs: programs,
		Rules: []explore.Rule{
			{Name: whose, Text: "a renewal does not look whose the key is"},
			{Name: creates, Text: "a renewal writes a key that does not exist"},
			{Name: begun, Text: "the answer to a renewal counts although a Refresh has begun since it was sent"},
			{Name: pending, Text: "a lock does not count on the shorter lease for which a Refresh asks"},
			{Name: closes, Text: "a request does not close an earlier one that was not answered"},
			{Name: shortens, Text: "a renewal may shorten a lease"},
			{Name: fromAnswer, Text: "a lease counts from when the answer came"},
			{Name: once, Text: "whoever finds out a loss tells it"},
			{Name: alarm, Text: "nobody looks at the deadline"},
			{Name: goesOn, Text: "a Release without an answer does not go on"},
		},
	}}
}

// The rules that can be left out.
const (
	whose      = "whose"
	creates    = "creates"
	begun      = "begun"
	pending    = "pending"
	closes     = "closes"
	shortens   = "shortens"
	fromAnswer = "fromanswer"
	once       = "once"
	alarm      = "alarm"
	goesOn     = "goeson"
)

// A program is what may happen.
type program struct {
	name     string
	ttl      int8    // of the Obtain
	ttls     [2]int8 // with which the first handle may be refreshed; 0: no such
	second   bool    // there is a second handle of the same token
	releases bool
	last     int8 // tick
	budget
	without string
	// ran is shown each run of a script: what there is before, and the request. It is nil but in the test that ties the model.
	ran func(m *program, before state, r request)
}

// programs are what is searched, without one rule.
func programs(without string) []explore.Program { return shown(without, nil) }

// shown are the programs, which show each run of a script.
func shown(without string, ran func(m *program, before state, r request)) (all []explore.Program) {
	for _, m := range []program{
		{name: "refresh", ttl: 4, ttls: [2]int8{2, 5}, last: 5, budget: budget{renewals: 1, refreshes: 2, losses: 1}},
		{name: "short first", ttl: 2, ttls: [2]int8{4, 2}, last: 4, budget: budget{renewals: 1, refreshes: 2, losses: 1}},
		{name: "watchdog", ttl: 3, last: 4, releases: true, budget: budget{renewals: 3, losses: 1}},
		{name: "released", ttl: 9, ttls: [2]int8{9}, last: 1, releases: true, budget: budget{renewals: 1, refreshes: 1, losses: 3}},
		{name: "attached", ttl: 2, second: true, last: 3, releases: true, budget: budget{renewals: 1, refreshes: 1, losses: 1}},
	} {
		m.without, m.ran = without, ran
		all = append(all, explore.Model[state]{Name: m.name, Start: m.start(), Next: m.next, Wrong: wrong, End: end})
	}
	return all
}
