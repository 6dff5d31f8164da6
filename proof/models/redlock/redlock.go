// Package redlock is models of package quorum: one lock at a majority of three or five servers, called nodes. They stand beside
// package quorum.
//
// # What is modelled
//
// Each node (node.go) has one key and the greatest fencing number that it has given. Two clients (client.go) ask all nodes
// for it at once. A client that has a majority makes its number that of a majority of the nodes, if the lock has one, and
// then holds the lock until its deadline, its Release, or its loss. While it holds it each node renews its own lease, and
// it asks for the lock again where it does not have it. A client that gives up releases everywhere, and tries again. Every
// request is under way for as long as it likes, and so is the answer of one that was executed. What a client does not do
// at once is the same as that it was paused.
//
// In some programs time passes (time.go), in ticks, and nothing bounds how many there are. A lease lasts for two or three
// of them, and is counted from before its request was sent: a lock is held as long as a majority of its leases runs.
// Servers may restart without their data, and are then left out for as long as a lease lasts. Nodes may go down, and stay so.
//
// In each state
//   - at most one client holds the lock;
//   - the number of a lock is greater than that of every lock that was returned before its Obtain began.
//
// Where time does not pass every way has an end, and there
//   - no node that is up is locked: what was granted in vain was released;
//   - a client that nobody competes with has obtained the lock, although a minority of the nodes is down.
//
// Nodes are alike, so states that differ by the order of the nodes are one: the node with a number in one step of a trace
// may have another number in the next. At five nodes answers to Obtains, and releases, come at once, and at most one node restarts.
//
// # What is not
//
// Requests that are executed after their client has given them up, because guards close them: package late. Drift of
// clocks, and the alarm before a deadline: package lease. The node time-out and suspicion, which decide when a client
// gives up: here it may do so at any time, or, where it is called patient, when it can have no majority any more. Keys
// that are left, Attach, readers, sets of keys, replicas of a node.
//
// # What cannot be promised
//
// Two holders come about if the clock of a node jumps ahead (jumps), and if a node restarts without its data and grants
// locks at once (nowait). Numbers grow nevertheless when a clock jumps. They do not if a node loses them while the
// clock of another one is ahead (skewedloss).
//
// # Why it is true of the scripts
//
// TestTied compares each run of a script, as a node of the model does it, with the model server.
package redlock

import "github.com/seed-14de3678/redislock/proof/models/explore"

// Groups returns all models of locks at a majority.
func Groups() []explore.Group {
	return []explore.Group{
		{
			Name:     "redlock-windows",
			Proves:   "windows of two locks at a majority never overlap, also when nodes restart without their data and grant nothing until all leases are over",
			Page:     "quorum/doc.go",
			Programs: programs(windows),
			Rules:    rules.Of(fewer, fromEnd, noWait, fewRenewed, jumps),
		},
		{
			Name:     "redlock-fencing",
			Proves:   "fencing numbers of locks at a majority grow, whatever the clocks of the nodes say",
			Page:     "quorum/doc.go",
			Programs: programs(fenced),
			Rules:    rules.Of(noWriteBack, fewRaised, anyNumber, skewedLoss),
		},
		{
			Name:     "redlock-progress",
			Proves:   "a lock is obtained while a minority of the nodes is down, and an Obtain that fails leaves nothing behind",
			Page:     "quorum/doc.go",
			Programs: programs(progress),
			Rules:    rules.Of(notUndone, grantedOnly, allNeeded),
		},
	}
}

// windows returns the programs in which time passes.
func windows() []model {
	return []model{
		{name: "quick answers", nodes: 3, attempts: [clients]int8{1, 1}, life: 2, patient: true, quick: true, renews: true, crashes: 1},
		{name: "obtain", nodes: 3, attempts: [clients]int8{1, 2}, life: 3},
		{name: "renew", nodes: 3, attempts: [clients]int8{1, 1}, life: 2, patient: true, renews: true},
		{name: "win back", nodes: 3, attempts: [clients]int8{1, 1}, life: 2, patient: true, renews: true, regains: true},
		{name: "restart", nodes: 3, attempts: [clients]int8{1, 1}, life: 2, patient: true, crashes: 2},
		{name: "renew and restart", nodes: 3, attempts: [clients]int8{1, 1}, life: 2, patient: true, renews: true, crashes: 1},
		{name: "five nodes", nodes: 5, attempts: [clients]int8{1, 1}, life: 2, patient: true, quick: true},
		{name: "five nodes restart", nodes: 5, attempts: [clients]int8{1, 1}, life: 2, patient: true, quick: true, crashes: 1},
	}
}

// fenced returns the programs with fencing numbers.
func fenced() []model {
	return []model{
		{name: "quick answers", nodes: 3, attempts: [clients]int8{1, 2}, fenced: true, quick: true, ahead: [most]int8{4}},
		{name: "one clock ahead", nodes: 3, attempts: [clients]int8{1, 1}, fenced: true, ahead: [most]int8{4}},
		{name: "two clocks ahead", nodes: 3, attempts: [clients]int8{1, 1}, fenced: true, ahead: [most]int8{4, 4}},
		{name: "clock jumps", nodes: 3, attempts: [clients]int8{1, 1}, fenced: true, jumps: 1},
		{name: "restart with equal clocks", nodes: 3, attempts: [clients]int8{1, 1}, fenced: true, crashes: 1},
		{name: "five nodes", nodes: 5, attempts: [clients]int8{1, 1}, fenced: true, patient: true, quick: true, ahead: [most]int8{4, 2}},
	}
}

// progress returns the programs whose end is looked at.
func progress() []model {
	return []model{
		{name: "alone", nodes: 3, attempts: [clients]int8{1, 0}, patient: true, failures: 1},
		{name: "alone at five nodes", nodes: 5, attempts: [clients]int8{1, 0}, patient: true, failures: 2},
		{name: "split votes", nodes: 3, attempts: [clients]int8{2, 2}, patient: true, failures: 1},
		{name: "give up at any time", nodes: 3, attempts: [clients]int8{1, 1}, failures: 1},
		{name: "five nodes", nodes: 5, attempts: [clients]int8{1, 1}, patient: true, quick: true, failures: 2},
	}
}

// A model is a program, and what may happen to it.
type model struct {
	name     string
	nodes    int
	attempts [clients]int8 // how often each client tries to obtain the lock
	life     int8          // of a lease, in ticks; 0: time does not pass
	renews   bool
	regains  bool // nodes that do not have the lock are asked again while it is held
	fenced   bool
	patient  bool       // a client gives up only when it cannot have a majority any more
	quick    bool       // answers to Obtains come at once, and so does a Release to the nodes
	ahead    [most]int8 // by how much the clocks of the nodes are ahead
	crashes  int8       // how often a node may lose its data
	jumps    int8       // how often the clock of a node may jump ahead
	failures int8       // how many nodes may go down

	without rule
	// ran is shown each run of a script: what the node has before, what its clock says, and the call. It is nil but in the test that
	// ties the model.
	ran func(m model, before node, clock int8, c call)
}

// need is how many nodes are enough for a lock.
func (m model) need() int {
	switch m.without {
	case fewer:
		return m.nodes / 2
	case allNeeded:
		return m.nodes
	}
	return m.nodes/2 + 1
}

// programs makes programs of models.
func programs(of func() []model) func(string) []explore.Program {
	return func(without string) []explore.Program { return shown(of(), without, nil) }
}

// shown makes programs of models, which show each run of a script.
func shown(of []model, without string, ran func(m model, before node, clock int8, c call)) (all []explore.Program) {
	for _, m := range of {
		m.without, m.ran = rules.Named(without), ran
		switch {
		case m.without == jumps && m.life > 0:
			m.jumps = 1
		case m.without == skewedLoss && m.ahead != [most]int8{}:
			m.crashes = 1
		}
		all = append(all, m.system())
	}
	return all
}

// system returns a model as what can be searched.
func (m model) system() explore.Model[state] {
	s := explore.Model[state]{Name: m.name, Start: m.start(), Next: m.next, Wrong: m.check}
	if m.life == 0 {
		s.End = m.end
	}
	return s
}
