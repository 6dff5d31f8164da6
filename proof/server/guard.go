package server

import "github.com/seed-14de3678/redislock/internal/proto/decode"

// A request that was not answered may be executed at any later moment: after its retry, after the release, within the next
// hold. A guard says of an owner: nothing below this number. A request asks for the guard of its owner in its home line,
// that of its first key. A stamp says whose request it is, and which late requests it closes.

// isOvertaken reports whether a later request of the owner was executed before: then this one is to change nothing.
func (r *run) isOvertaken(s decode.Stamp) bool {
	score, ok := r.score(s.Home, s.Owner)
	if !ok || score < guards {
		return false
	}
	g := GuardOf(score)
	return g.Number > float64(s.Number) && g.End > float64(r.now)/1000
}

// close sets the guards of a stamp.
func (r *run) close(s decode.Stamp) {
	for _, c := range s.Closes {
		r.setGuard(c)
	}
}

// setGuard sets one guard, for the whole time that one stands. It never makes the number of one that stands smaller. A
// line lives a little longer than each of its guards.
func (r *run) setGuard(c decode.Closing) {
	r.dropEndedGuards(c.Line)
	g := Guard{float64(c.Number), float64(r.now/1000 + guardLife)}
	if score, ok := r.score(c.Line, c.Owner); ok && score >= guards {
		g.Number = max(g.Number, GuardOf(score).Number)
	}
	r.Add(c.Line, c.Owner, g.Score())
	r.livesAtLeast(c.Line, (guardLife+1)*1000)
}

// livesAtLeast gives a line a longer lease, if its own is shorter or it has none.
func (r *run) livesAtLeast(line string, ttl int64) {
	if r.left(line, r.now) < ttl {
		r.ends(line, r.now+ttl, r.now)
	}
}

// dropEndedGuards takes the guards that are over out of a line.
func (r *run) dropEndedGuards(line string) {
	r.remove(line, func(m Member) bool { return m.hasEnded(r.now) })
}
