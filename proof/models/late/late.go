// Package late is models of late requests and the guards against them: small programs on two keys, whose requests stay
// without an answer and are executed at any later moment, or never. A request that is executed late changes nothing that
// anybody counts on: that is what they show.
//
// # What is modelled
//
// A server (server.go) has two keys, A and B, with their lines, in which waiters and guards stand, and
// executes the script of a request as a whole (script.go) or, in one model, in part. A process knows an
// owner for its token (owner.go): the number of its requests, and the list of those that are open. Two
// holds of the token (hold.go) are obtained, changed and freed by the calls (call.go) of one or two
// callers, and cleaned up beside them. A call sends a request (sending.go) and takes in the answer, or that
// there is none (answer.go). Time does not pass, but in one model: a lease is a number that a request makes
// greater or smaller.
//
// In each state (check.go)
//   - every hold has, in Redis, at least the modes and leases that it counts on. A Release, a Refresh or a
//     conversion of another hold of the token takes away what it is for from the moment at which it is
//     sent, but not from a hold whose Obtain was sent after the call had begun;
//   - nobody of the token holds a key that was left, before its time is over;
//   - a key that no hold counts among its own, and no clean-up is about, is free;
//   - no waiter stands in line after its call has ended;
//   - as long as every request is answered, and one is sent at a time, there is no guard;
//   - no call is overtaken for ever, and numbers do not run away.
//
// A breach (breach.go) leaves one rule out.
//
// # What is not
//
// What a score looks like, and its limits in bits and years; how lines and guards share a TTL; memory and
// rights that are missing; slots that move, proxies, clients that resend by themselves; batches; fencing
// numbers; intents; how a short cut finds out that there is nothing to be asked; who hears a channel, and what
// waiters are told beside that they were granted their keys. A request is executed once at most: one that is
// executed twice is two tries of which the first stays without an answer.
//
// # Why it is true of the scripts
//
// TestTied compares each run of a script that does not fail, as the server of the model does it, with the
// model server.
package late

import "github.com/seed-14de3678/redislock/proof/models/explore"

// Groups returns all models of late requests.
func Groups() []explore.Group { return GroupsWith(0) }

// GroupsWith returns the same models, in which so many more tries may stay without an answer. They take long.
func GroupsWith(more int) []explore.Group {
	var all []explore.Group
	for _, g := range groups() {
		for i := range g.models {
			g.models[i].faults += int8(more)
		}
		all = append(all, g.explored())
	}
	return all
}

// groups returns all models.
func groups() []group {
	return []group{base(), numbers(), together(), expiry(), mixed(), lines(), leaving(), apart(), servers(), partly()}
}

// explored returns a group as package explore knows it.
func (g group) explored() explore.Group {
	return explore.Group{
		Name:   "late-" + g.name,
		Proves: g.proves,
		Page:   "client.go",
		Programs: func(without string) []explore.Program {
			programs := make([]explore.Program, len(g.models))
			for i, m := range g.models {
				programs[i] = m.without(rules.Named(without)).system()
			}
			return programs
		},
		Rules: rules.Of(g.breaches...),
	}
}

// system returns a model as what can be searched.
func (m model) system() explore.System[state, event] {
	return explore.System[state, event]{
		Name:  m.program,
		Start: m.start(),
		Next: func(s state, visit func(event, state)) {
			m.next(&s, func(n state, e event) { visit(e, n) })
		},
		Wrong: func(s state) string { return m.check(&s) },
	}
}
