package turns

// Shares are what several callers had.
type Shares struct {
	Turns   []int // of each
	Refused int   // attempts of all of them
	Waits   Waits // of all of them
}

// Enter adds one more caller.
func (s *Shares) Enter(had Had) {
	s.Join(Shares{[]int{had.Turns}, had.Refused, had.Waits})
}

// Join adds other callers, in the same time.
func (s *Shares) Join(others Shares) {
	s.Turns = append(s.Turns, others.Turns...)
	s.sum(others)
}

// Add adds what the same callers had in another time.
func (s *Shares) Add(other Shares) {
	if s.Turns == nil {
		s.Turns = make([]int, len(other.Turns))
	}
	for i, n := range other.Turns {
		s.Turns[i] += n
	}
	s.sum(other)
}

func (s *Shares) sum(other Shares) {
	s.Refused += other.Refused
	s.Waits.Join(other.Waits)
}

// Total is how many turns all had together.
func (s *Shares) Total() (n int) {
	for _, of := range s.Turns {
		n += of
	}
	return n
}

// Fairness is Jain's index: 1 if all had as many turns, 1/n if one of n had them all, 0 if nobody had any.
func (s *Shares) Fairness() float64 {
	var sum, squares float64
	for _, n := range s.Turns {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(s.Turns)) * squares)
}
