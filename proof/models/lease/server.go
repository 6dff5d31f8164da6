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

// grant gives the key to a token, and returns the fencing number of the hold.
func (s *server) grant(m model, token int8) (number int8) {
	s.holder, s.left = token, life
	s.holds++
	clock := s.given + 1 // time has passed since the number that was given last
	if s.slow || m.without == fromOne {
		clock = 1
	}
	number = max(clock, s.last+1)
	if m.without != notStored {
		s.last = number
	}
	s.given = max(s.given, number)
	return number
}

// renew gives a token a new lease, if it has the key.
func (s *server) renew(m model, token int8) (done bool) {
	switch {
	case s.holder == token:
	case m.without != takesAny:
		return false
	}
	s.holder, s.left = token, life
	return true
}

// release frees the key of a token.
func (s *server) release(m model, token int8) {
	if s.holder == token || m.without == freesAny {
		s.free(m)
	}
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
