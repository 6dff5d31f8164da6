package lease

// A server has the key, and its numbers.
type server struct {
	holder int8 // the token that has the key; 0: nobody
	left   int8 // of the lease, in ticks

	last  int8 // the number that is stored beside the key
	given int8 // the greatest number that was given
	holds int8 // how many holds were granted
	slow  bool // its clock has gone back, and is behind all numbers that it has given
}

// A script is one that the server executes.
type script int8

const (
	obtain script = iota
	refresh
	release
)

// A call is one run of a script.
type call struct {
	script script
	token  int8
}

// run executes a script, and returns whether it has done what it is for; and of an Obtain the fencing number.
func (s *server) run(m model, c call) (done bool, number int8) {
	if m.ran != nil {
		m.ran(m, *s, c)
	}
	return s.execute(m, c)
}

func (s *server) execute(m model, c call) (done bool, number int8) {
	switch c.script {
	case refresh:
		return s.renew(m, c.token), 0
	case release:
		return s.release(m, c.token), 0
	}
	if s.holder != 0 {
		return false, 0
	}
	return true, s.grant(m, c.token)
}

// grant gives the key to a token, and returns the fencing number of the hold.
func (s *server) grant(m model, token int8) (number int8) {
	s.holder, s.left = token, life
	s.holds++
	number = max(s.clock(m), s.last+1)
	if m.without != notStored {
		s.last = number
	}
	s.given = max(s.given, number)
	return number
}

// clock is the number that the clock of the server says.
func (s *server) clock(m model) int8 {
	if s.slow || m.without == fromOne {
		return 1
	}
	return s.given + 1 // time has passed since the number that was given last
}

// renew gives a token a new lease, if it has the key. It makes none shorter: one may be longer since the clock has gone back.
func (s *server) renew(m model, token int8) (done bool) {
	switch {
	case s.holder == token:
	case m.without != takesAny:
		return false
	}
	s.holder, s.left = token, max(s.left, life)
	return true
}

// release frees the key of a token.
func (s *server) release(m model, token int8) (done bool) {
	if s.holder != token && m.without != freesAny {
		return false
	}
	s.free(m)
	return true
}

func (s *server) free(m model) {
	s.holder, s.left = 0, 0
	if m.without == forgotten {
		s.last = 0
	}
}

// tick lets time pass at the server.
func (s *server) tick(m model) {
	if s.left > 0 {
		s.left--
		if s.left == 0 {
			s.free(m)
		}
	}
}
