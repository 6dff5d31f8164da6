package outlive

// Who has the key.
type owner int8

const (
	nobody owner = iota
	holder
	waiter
	passer
	left // nobody; the key is taken until its time is over
)

// A server is what Redis has.
type server struct {
	owner owner
	till  int8
	fence int8 // the greatest number that was given
	guard bool // that of the Break
	line  bool // the waiter stands in line
}

type standing int8

const (
	held standing = iota
	released
	lost
	crashed
)

// A lock is that of the holder, as its process has it.
type lock struct {
	is       standing
	deadline int8
	keep     int8 // the keys are to be left until then; 0: they are to be free
	told     int8
	clearing bool // a clean-up goes on
	notice   bool // a notice is on its way
}

type kind int8

const (
	none kind = iota
	renewal
	check
	release
	cleanup
	obtain   // by somebody else, and so are those below
	breakUp  // a Break
	withdraw // its clean-up
)

type reply int8

const (
	flies reply = iota // it was not executed yet
	done
	notOurs
	refused
	overtaken
)

// A request is one of the holder.
type request struct {
	kind  kind
	sent  int8
	rest  int8 // for how long the keys are to be left
	after bool // it was sent after the lock was broken
	reply reply
}

// What the waiter does.
type waiting int8

const (
	stands waiting = iota
	has
	gone
)

// A queuer is the waiter.
type queuer struct {
	is      waiting
	granted bool // a message says so, on its way
	head    int8 // a message says that the lease is over then; 0: there is none
	timer   int8 // when it asks by itself; 0: it does not
}

// How far the Break is.
type breaking int8

const (
	unsent breaking = iota
	asks
	unknown // its caller has got no answer, and its clean-up goes on
	answered
	closed // its clean-up was answered
)

const copies = 2 // of the request of the Break, at most

type state struct {
	now      int8
	server   server
	lock     lock
	requests [2]request
	queuer   queuer
	breaking breaking
	flying   int8 // copies of the Break that were not executed yet
	sent     int8 // copies that were sent
	left     budget

	// What was, for the checks alone.
	leftTill int8 // the end of the time for which the key was left
	released bool // a release of the holder has found the key to be its own
	broken   int8 // how often
	wrong    mistake
}

// A mistake is what the latest step has done wrong.
type mistake int8

const (
	right mistake = iota
	tooSoon
	tooLong
	twice
	afterClose
	notGreater
	ignores
)

// A budget is how often things may happen still.
type budget struct{ renewals, losses, passes int8 }

// settle forgets what does not matter any more.
func (s *state) settle() {
	if s.lock.is != held {
		s.lock.deadline = 0
	}
	if s.requests[0].rank() < s.requests[1].rank() {
		s.requests[0], s.requests[1] = s.requests[1], s.requests[0]
	}
}

// rank tells requests apart.
func (r request) rank() int32 {
	rank := int32(r.kind)<<16 | int32(r.sent)<<12 | int32(r.rest)<<8 | int32(r.reply)<<4
	if r.after {
		rank++
	}
	return rank
}

func (m *program) start() (s state) {
	s.left = m.budget
	s.server = server{owner: holder, till: m.ttl, fence: 1, line: true}
	s.lock = lock{deadline: m.ttl, keep: m.holdAtLeast}
	s.queuer.timer = m.ttl
	return s
}
