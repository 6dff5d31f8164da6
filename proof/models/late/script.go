package late

// A reply is what a script answers.
type reply int8

const (
	ok        reply = iota + 1
	refused         // somebody else holds a key, or reads it
	waits           // it stands in line
	lost            // not all keys are the token's; a Release frees the rest
	overtaken       // a later request of the owner has closed it: nothing was changed
	failed          // an error, after a part was written
)

func (r reply) String() string {
	return [...]string{"", "ok", "refused", "waits", "lost", "overtaken", "an error"}[r]
}

// An extent is how much of a script is executed before it fails.
type extent int8

const (
	whole        extent = iota
	firstGuard          // of those that are to be set, and nothing of the work
	guardsOnly          // and nothing of the work
	firstKey            // the guards, and the work on the first key
	withoutReply        // everything; then it fails
	extents
)

func (e extent) String() string {
	return [...]string{
		"", "fails with the first guard set", "fails with the guards set", "fails with the first key done", "fails with all done",
	}[e]
}

// execute runs the script of a request.
func (s *server) execute(m *model, r request, e extent) reply {
	if s.asks(m, r) && s.guard[r.home][r.id].number > r.number {
		return overtaken
	}
	if m.broken != noGuard {
		s.close(m, r, e)
	}
	switch e {
	case whole:
		return s.work(m, r)
	case firstKey, withoutReply:
		s.workInPart(m, r, e)
	}
	return failed
}

// asks reports whether a script asks for the guard of its owner.
func (s *server) asks(m *model, r request) bool {
	switch {
	case r.number == 0:
		return false
	case m.broken == unaskedEntry:
		return r.op != queue || s.other == [keys]mode{}
	case m.broken == unaskedLeave && r.taken:
		return false
	case m.broken == unaskedRelease:
		return !r.op.frees() || s.place == [keys][waiters]int8{}
	}
	return m.broken != noGuard
}

// workInPart does the work of a script that fails.
func (s *server) workInPart(m *model, r request, e extent) {
	stuck := r.op.obtains() && s.inTheWay(m, r) >= 0
	if e == firstKey {
		r.keys &= -r.keys
	}
	switch {
	case !stuck:
		s.work(m, r)
	case r.op == queue:
		s.enter(int(r.hold), r.keys)
	}
}

// close sets the guards that a request brings.
func (s *server) close(m *model, r request, e extent) {
	if m.broken == unclosedLeave && r.taken {
		return
	}
	number := r.number
	for i := range keys {
		for id, lines := range r.former {
			if lines.has(i) {
				s.raise(m, i, int8(id), top)
			}
		}
		if !r.closes.has(i) {
			continue
		}
		if m.broken == forGood && m.home[r.hold] != int8(i) {
			number = top
		}
		s.raise(m, i, r.id, number)
		if e == firstGuard {
			return
		}
	}
}

// work does what the request is for.
func (s *server) work(m *model, r request) reply {
	switch {
	case r.op.obtains():
		return s.obtain(m, r)
	case r.op.frees():
		return s.release(m, r)
	}
	return s.change(r)
}

// inTheWay returns the first key of an Obtain that it cannot have, or -1.
func (s *server) inTheWay(m *model, r request) int {
	for i := range keys {
		wants := writes
		if r.read.has(i) {
			wants = reads
		}
		held := s.other[i] == writes || s.other[i] == reads && wants == writes
		if m.broken != takesBack {
			held = held || s.taken[i] == writes || s.taken[i] == reads && wants == writes
		}
		if r.keys.has(i) && (held || s.mine[i].mode == free && s.isBehind(int(r.hold), i)) {
			return i
		}
	}
	return -1
}

func (s *server) obtain(m *model, r request) reply {
	if s.inTheWay(m, r) >= 0 {
		if r.op == queue {
			s.enter(int(r.hold), m.wants(int(r.hold)))
			return waits
		}
		return refused
	}
	for i := range keys {
		if !r.keys.has(i) {
			continue
		}
		before, left := s.mine[i].mode, max(r.lease, s.mine[i].left)
		if m.broken == shortens {
			left = r.lease
		}
		s.mine[i] = lease{writes, left}
		if stays := r.keep && before == writes; r.read.has(i) && !stays {
			s.mine[i].mode = reads
		}
	}
	if r.op == queue {
		s.leave(m, int(r.hold), r.keys)
		s.handOver(m, r.keys)
	}
	return ok
}

func (s *server) release(m *model, r request) reply {
	reply := ok
	for i := range keys {
		if !r.keys.has(i) || r.spare.has(i) {
			continue
		}
		if s.mine[i].mode == free {
			reply = lost
		}
		if r.taken {
			s.taken[i] = max(s.taken[i], s.mine[i].mode)
		}
		s.mine[i] = lease{}
	}
	if r.leave {
		s.leave(m, int(r.hold), r.keys)
	}
	s.handOver(m, r.keys)
	return reply
}

// change gives held keys another lease or mode.
func (s *server) change(r request) reply {
	for i := range keys {
		if r.keys.has(i) && s.mine[i].mode == free {
			return lost
		}
	}
	for i := range keys {
		if r.op == upgrade && r.keys.has(i) && (s.other[i] == reads || s.taken[i] == reads) {
			return refused
		}
	}
	for i := range keys {
		if !r.keys.has(i) {
			continue
		}
		left := r.lease
		if r.keep {
			left = max(left, s.mine[i].left)
		}
		s.mine[i].left = left
		switch r.op {
		case downgrade:
			s.mine[i].mode = reads
		case upgrade:
			s.mine[i].mode = writes
		}
	}
	return ok
}
