package lease

const (
	clients = 2
	life    = 4 // of a lease, in ticks of the server
	margin  = 1
	slots   = 2 // for renewals, and for writes, of one client that are under way
)

// A state is everything at one moment.
type state struct {
	server   server
	resource resource
	client   [clients]client
	wrong    wrong
	back     bool // the server's clock may still go back
	lost     bool // the server may still lose its data
}

// A wrong is what a step has done that it should not have.
type wrong int8

const (
	nothing wrong = iota
	staleTaken
	newestRefused
	toldLate
	goesOn
)

var wrongs = [...]string{
	staleTaken:    "the resource has taken a write of an older hold after one of a newer hold",
	newestRefused: "the resource has refused a write of the newest hold",
	toldLate:      "a client that is not paused was not told of its loss by the deadline",
	goesOn:        "a window that had ended goes on",
}

// A client is one process.
type client struct {
	phase  phase
	paused bool // although it is to be told of its loss
	round  int8 // of its Obtains, from 1

	age    int8 // of its Obtain, in ticks
	left   int8 // of its window, in ticks
	slow   bool // its clock has stood still for one of these
	ended  bool // the deadline of this hold has been reached
	number int8 // the fencing number of the hold
	hold   int8 // which hold of all it is, in the order in which they were granted

	renewals [slots]renewal
	freeing  int8 // the token that a release under way is of; 0: there is none

	writes int8 // how many it may still begin
	looked bool // it has seen that it holds the lock, and is about to write with this number
	about  write
	sent   [slots]write
}

// A phase is how far a client is with its lock.
type phase int8

const (
	idle    phase = iota
	asked         // its Obtain is under way
	granted       // the lock is its own at the server, and the answer is under way
	holds
	gone // it was told of the loss
)

// A renewal is one that is under way.
type renewal struct {
	stage stage
	age   int8
	slow  bool // the client's clock has stood still meanwhile
	token int8
}

// A write is one that is under way to the resource.
type write struct {
	stage  stage
	number int8
	hold   int8
}

// A stage is how far a request is.
type stage int8

const (
	empty    stage = iota
	sent           // it has not arrived
	executed       // the answer is under way; or a write was compared, where that is a step of its own
)

// token is what the server knows the holds of a client by.
func (s *state) token(who int) int8 { return int8(who+1)*8 + s.client[who].round }

// inWindow reports whether a client counts on its lock.
func (c *client) inWindow() bool { return c.phase == holds && c.left > 0 }

// start is the state in which a model begins.
func (m model) start() state {
	return state{back: m.back, lost: m.lost}
}

// check says what is wrong with a state.
func (m model) check(s state) string {
	if s.wrong != nothing {
		return wrongs[s.wrong]
	}
	if s.client[0].inWindow() && s.client[1].inWindow() && !m.lost {
		return "two windows overlap"
	}
	return ""
}
