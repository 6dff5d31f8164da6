package explore

// A hash is what a state is known by.
type hash [2]uint64

// A seen has the numbers of the states that were visited, counted from 0. It is a table of its own because most of the time of
// a search goes into it: a state is where its hash says, or in one of the places behind that, so most often one look is enough.
// The zero seen has none.
type seen struct {
	slots []slot // a power of two; at most two thirds are in use
	used  int
}

type slot struct {
	hash  hash
	after int32 // the number and one; 0: free
}

// number returns that of a state, and whether it has been there before. One that has not gets the next.
func (s *seen) number(h hash) (number int32, ok bool) {
	if 3*s.used >= 2*len(s.slots) {
		s.grow()
	}
	at := s.place(h)
	if after := s.slots[at].after; after > 0 {
		return after - 1, true
	}
	s.used++
	s.slots[at] = slot{h, int32(s.used)}
	return int32(s.used - 1), false
}

// place is where a hash is, or has to be.
func (s *seen) place(h hash) int {
	at := int(h[0]) & (len(s.slots) - 1)
	for s.slots[at].after > 0 && s.slots[at].hash != h {
		at = (at + 1) & (len(s.slots) - 1)
	}
	return at
}

func (s *seen) grow() {
	before := s.slots
	s.slots = make([]slot, max(1024, 2*len(before)))
	for _, each := range before {
		if each.after > 0 {
			s.slots[s.place(each.hash)] = each
		}
	}
}
