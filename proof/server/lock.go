package server

// A Refusal is why a token cannot have a key.
type Refusal struct {
	Index  int // of the key in its set, from 1
	Mode   Mode
	Left   int64  // ms until it may be over; -1: never
	Detail string // metadata of who is in the way, or the type of a key that is no lock
}

// A standing is what a token has of a key.
type standing struct {
	refused *Refusal // nil if the token may have it
	value   Value    // under which it holds the key
	holds   bool
	kind    Kind
	left    int64 // for how long it holds the key, ms
}

// value returns the value under which a key is written.
func (r *run) value(key string) (v Value, ok bool) {
	text, ok := r.text(key)
	return Value(text), ok
}

// isRunning reports whether the lease of a reader runs.
func (r *run) isRunning(m Member) bool { return m.Score > float64(r.now) }

// restOf is for how long the lease of a reader runs, ms.
func (r *run) restOf(m Member) int64 { return int64(m.Score - float64(r.now)) }

// reader finds the lease of a token among the readers of a key, under this value, or under any if the run searches.
func (r *run) reader(key string, v Value) (m Member, ok bool) {
	score, found := r.score(key, string(v))
	m = Member{string(v), score}
	if !found && r.searches {
		for _, other := range r.members(key) {
			if Value(other.Text).Token() == v.Token() {
				m = other
				break
			}
		}
	}
	return m, r.isRunning(m)
}

// look looks at the i-th key of the set for a token that wants it in a mode.
//
// A key that the token holds already counts as free. A key is no lock if it has no lease, or holds no value. Of a key that
// is read the last two leases to end tell a writer whether others read it.
func (r *run) look(i int, mode Mode, v Value) standing {
	key := r.set[i].Key
	s := standing{kind: r.kind(key)}
	if s.kind == None {
		return s
	}
	left := r.left(key, r.now)
	held, isWritten := r.value(key)
	if isWritten && held.Token() == v.Token() {
		s.value, s.holds, s.left = held, true, left
		return s
	}
	refuse := func(mode Mode, left int64, detail string) standing {
		return standing{refused: &Refusal{i + 1, mode, left, detail}, kind: s.kind}
	}
	readers := r.members(key)
	if len(readers) > 0 {
		held = Value(readers[len(readers)-1].Text)
	}
	if left < 0 || !held.IsValid() {
		return refuse(Foreign, left, string(s.kind))
	}
	if isWritten {
		return refuse(Write.under(held), left, held.Metadata())
	}
	if mode == Read {
		if m, ok := r.reader(key, v); ok {
			s.value, s.holds, s.left = Value(m.Text), true, r.restOf(m)
			return s
		}
		if r.isRunning(readers[len(readers)-1]) {
			return s
		}
		return refuse(Read, left, "") // no lease runs, and yet the key is there
	}
	for k := len(readers) - 1; k >= max(0, len(readers)-2); k-- {
		m, its := readers[k], Value(readers[k].Text)
		switch {
		case !r.isRunning(m):
		case its.Token() != v.Token():
			return refuse(Read.under(its), r.restOf(m), its.Metadata())
		case !s.holds:
			s.value, s.holds, s.left = its, true, r.restOf(m)
		}
	}
	if s.holds {
		return s
	}
	return refuse(Read, left, "")
}

// longer is the lease that a token is given that holds a key already: none makes it shorter.
func (s standing) longer(ttl int64) int64 {
	if s.holds {
		return max(ttl, s.left)
	}
	return ttl
}

// isMine reports whether a token holds a key at all, and if it reads it under which lease.
func (r *run) isMine(key string, v Value) (m Member, writes, ok bool) {
	if held, isWritten := r.value(key); isWritten {
		return m, true, held.Token() == v.Token()
	}
	m, ok = r.reader(key, v)
	return m, false, ok
}

// read gives a reader its lease. The key ends with the last of its readers.
func (r *run) read(key string, v Value, end int64) {
	r.Add(key, string(v), float64(end))
	readers := r.members(key)
	r.ends(key, int64(readers[len(readers)-1].Score), r.now)
}

// join gives a reader its lease beside others, of whom some are dropped if their leases have ended, with their numbers.
func (r *run) join(s Spot, v Value, end int64) {
	var ended []Member
	for _, m := range r.members(s.Key) {
		if !r.isRunning(m) && len(ended) < mostEnded {
			ended = append(ended, m)
		}
	}
	for _, m := range ended {
		r.remove(s.Key, func(o Member) bool { return o == m })
		token := Value(m.Text).Token()
		if token == "" {
			token = writes // left by its reader: such a hold has no number
		}
		if r.fenced {
			r.forget(s.Fence, token)
		}
	}
	r.read(s.Key, v, end)
}

// An ending is what becomes of a key when the lease of a reader ends.
type ending int

const (
	notRead ending = iota // it had no lease
	alone                 // nobody else reads it: the key is left to be deleted
	shared
)

// endLease ends the lease of a token that reads a key, and returns it.
func (r *run) endLease(key string, v Value) (ending, Value) {
	readers := r.members(key)
	if len(readers) == 0 {
		return notRead, ""
	}
	last := readers[len(readers)-1]
	if len(readers) == 1 {
		if Value(last.Text).Token() != v.Token() || !r.isRunning(last) {
			return notRead, ""
		}
		return alone, Value(last.Text)
	}
	m, ok := r.reader(key, v)
	if !ok {
		return notRead, ""
	}
	before := readers[len(readers)-2]
	r.remove(key, func(o Member) bool { return o.Text == m.Text })
	if m.Text == last.Text {
		r.ends(key, int64(before.Score), r.now)
	}
	return shared, Value(m.Text)
}
