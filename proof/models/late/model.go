package late

// A group is models of one subject: the programs in which the rules matter, and the breaches that are to be
// noticed in one of them at least.
type group struct {
	name     string
	proves   string
	models   []model
	breaches []breach
}

// program makes a model of the operations of one caller, or of two at a time. Nothing ends in it, and at most
// so many tries stay without an answer. The holds have the lines of different keys for their home.
func program(name string, faults int8, callers ...[]step) model {
	m := model{program: name, home: [holds]int8{0, 1}, bounds: bounds{faults: faults}, guardLife: 1, last: top}
	copy(m.threads[:], callers)
	for _, steps := range callers {
		for _, p := range steps {
			if home := m.home[p.hold]; p.read.has(int(home)) && p.read != p.keys {
				m.home[p.hold] = 1 - home // what is written stands first
			}
		}
	}
	return m
}

// A step is an operation of a program.
type step struct {
	hold  int8
	op    op
	keys  set
	read  set // of the keys of an Obtain
	lease int8
	taken bool // a Release leaves the keys taken
}

// do makes a step.
func do(hold int8, o op, keys set, lease ...int8) step {
	p := step{hold: hold, op: o, keys: keys}
	if len(lease) > 0 {
		p.lease = lease[0]
	}
	return p
}

// reading has an Obtain ask for some of its keys to read them.
func (p step) reading(keys set) step {
	p.read = keys
	return p
}

// leaving has a Release leave its keys taken.
func (p step) leaving() step {
	p.taken = true
	return p
}

// A model is a program, what it runs against, and its [bounds].
type model struct {
	program string
	threads [threads][]step
	home    [holds]int8 // the line of the hold's first key
	process [holds]int8 // where the hold lives
	other   [keys]mode  // what another token holds at first

	bounds

	guardLife    int8 // ticks
	waiterLease  int8
	last         int8 // of the numbers; at it the owner takes a fresh id
	readers      set  // the keys that others may read
	anotherWants set  // the keys for which another token may wait
	twins        bool // A and B are keys of the same name on two servers

	broken breach

	// ran is shown each run of a script that does not fail: what the server has before, and the request. It is nil but in the test
	// that ties the model.
	ran func(m *model, before server, r request)
}

// bounds keep the number of states finite.
type bounds struct {
	faults   int8 // how many tries may stay without an answer
	errors   int8 // how many scripts may fail when they have written a part
	ticks    int8 // how much time may pass; 0: leases and guards do not end
	lateness int8 // how many ticks after it was sent a request may be executed at the latest
	turns    int8 // how often others may come
	asks     int8 // how often a waiter may ask again
}

// homeOf returns the line where a request asks: that of the first key that it is about. So after ReleaseKeys the home of a hold
// may be another one; what is open before is closed in the line where it asks.
func (m *model) homeOf(r request) int8 {
	home := m.home[r.hold]
	if !r.keys.has(int(home)) {
		return 1 - home
	}
	return home
}

// names returns the keys that have the names of some keys.
func (m *model) names(of set) set {
	if m.twins && of != 0 {
		return ab
	}
	return of
}

// wants returns the keys that a waiter waits for, or may.
func (m *model) wants(w int) (wants set) {
	if w == another {
		return m.anotherWants
	}
	for _, steps := range m.threads {
		for _, p := range steps {
			if p.op == queue && int(p.hold) == w {
				wants |= p.keys
			}
		}
	}
	return wants
}

// longest returns the longest lease that is asked for.
func (m *model) longest() (longest int8) {
	for _, steps := range m.threads {
		for _, p := range steps {
			longest = max(longest, p.lease)
		}
	}
	return longest
}

// without returns the model with one rule left out. It has one unanswered try fewer: that is enough to notice, but for a guard that
// is to be made lower, which takes two of them to come about and to matter.
func (m model) without(b breach) model {
	m.broken = b
	switch b {
	case nothing, lowers:
		return m
	case capped:
		m.last = 2
	case endsEarly:
		m.guardLife = 1
	case tooLate:
		m.lateness = m.guardLife + 1
	}
	m.faults = max(1, m.faults-1)
	return m
}
