package late

// A set is one of the two keys, both, or none; the lines of the keys are named by it as well.
type set uint8

const (
	a  set = 1
	b  set = 2
	ab     = a | b
)

const keys = 2

// has reports whether key i is in the set.
func (s set) has(i int) bool { return s>>i&1 == 1 }

func (s set) String() string { return [...]string{"", "A", "B", "AB"}[s] }

// one is the set of key i.
func one(i int) set { return 1 << i }
