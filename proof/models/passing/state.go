package passing

const callers = 3 // of the Client

type phase int8

const (
	absent   phase = iota // it comes later
	local                 // it waits in the Client, and no request is under way for it
	carried               // by a Release that is under way
	asking                // its own request is under way
	standing              // it stands in line, in Redis
	deciding              // it has seen that its context has ended, and not left yet: no caller of the library does that
	given                 // the hold was passed on to it, and its goroutine has not woken yet
	holding               // it counts on its lock
	freeing               // its Release is under way
	over                  // its call, or its hold, has ended
	dead                  // its process was killed
)

// A caller is one Obtain of the Client.
type caller struct {
	phase   phase
	arrived int8   // its rank among all who came
	sent    int8   // when its latest request was sent
	guard   bool   // in Redis: nothing of it but its latest request
	answer  answer // to its request
	stands  bool   // in line, in Redis
	asked   bool   // a request was sent for it
	open    bool   // one was not answered
	back    bool   // it frees a hold that came too late for it, and goes on waiting
	passed  bool   // it has passed its lock on
	ended   bool   // the hold that it was given has ended, and another one was obtained
	sees    bool   // somebody else has had the key since it came
}

// An answer is one that is on its way.
type answer int8

const (
	flies  answer = iota // the request was not executed yet
	done                 // the key is its own
	inLine               // it stands in line
)

// A hold is one that the Client knows of: of a token, and so of the caller that has obtained it. Others may have it now.
type hold struct {
	token    int8 // of which caller, and one; 0: there is no hold
	has      int8 // which caller has it now, and one
	obtained int8 // when the request was sent that has obtained it, or by a misreading later
	deadline int8
	ttl      int8
	slept    int8 // for how long the machine slept since then, for which its monotonic clock stood still
	number   int8 // the fencing number of whoever has it
	last     int8 // the last of the numbers that it took
	back     int8 // the number that a Release writes back
	touched  int8 // who has given a part of it back, and one
	told     int8 // whose Token was asked for, and one: another process knows it
	lost     bool
	gone     bool // a renewal was told so
}

// A release is a request that ends a hold, and may carry somebody.
type release struct {
	token   int8 // 0: there is none
	carries int8 // and one
	sent    int8
	back    int8 // the number that is written back; 0: none
	rest    int8 // for how long the key is left
	again   bool // it is not the first try, and closes those before
	done    bool // it was executed, and is answered
	given   bool // the answer says that whom it carries has the key
}

// A renewal is one that is under way.
type renewal struct {
	token, by  int8 // and one; 0: there is none
	sent       int8
	done, says bool // it was executed, and says yes
}

// A server is what Redis has.
type server struct {
	owner  int8 // the token, and one; or other, or left
	since  int8
	till   int8
	fence  int8          // the greatest number that was given
	line   [2]int8       // of the other Client's callers: the ranks of those who stand
	cut    bool          // a part of the set was given back
	guard  [callers]int8 // of the tokens as releasers
	broken int8          // the token whose hold was broken by a Break, and one
}

// What may own the key beside tokens.
const (
	nobody int8 = 0
	other  int8 = callers + 1 // a caller of another Client
	left   int8 = callers + 2 // nobody; it is taken until its time is over
)

// A budget is how often things may happen still.
type budget struct {
	renewals int8 // that are sent
	losses   int8 // Releases that are not answered
	sleeps   int8 // ticks for which the machine sleeps
	touches  int8 // parts of a set that are given back
	tokens   int8 // tokens that another process is told
	raises   int8 // RaiseFence
	cancels  int8 // callers that give up
	kills    int8 // of the process
	others   int8 // callers of another Client
	talks    int8 // calls of the methods of a Lock that was passed on
	leaves   int8 // Releases that leave the key for a tick
	breaks   int8 // Breaks
}

type state struct {
	now      int8
	came     int8 // how many have come
	server   server
	callers  [callers]caller
	hold     hold
	release  release
	late     release // whose answer nobody waits for
	renewal  renewal
	counting bool // the hook of an obtained lock was called for one that has not ended
	left     budget

	// What was, for the checks alone.
	greatest int8 // the greatest number of a hold, or that RaiseFence has named
	leftTill int8
	wrong    mistake
}

// A mistake is what the latest step has done wrong.
type mistake int8

const (
	right mistake = iota
	tooShort
	tooLong
	skipped
	overtook
	notGreater
	notRenewed
	untrue
	tooSoon
	twoCounted
	wasLost
)

// settle forgets what does not matter any more.
func (s *state) settle() {
	for p := range s.callers {
		c := &s.callers[p]
		if c.phase >= over {
			if !c.stands {
				c.arrived = 0
			}
			*c = caller{phase: c.phase, stands: c.stands && c.phase == over, arrived: c.arrived, passed: c.passed && s.left.talks > 0, guard: c.guard && s.late.carries == int8(p+1)}
		}
	}
	if s.hold.lost {
		s.hold = hold{token: s.hold.token, lost: true}
	}
}
