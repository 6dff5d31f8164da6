package outlive

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A visitor visits what follows a state.
type visitor func(what string, change func(n *state))

// next visits every state that one step leads to.
func (m *program) next(s state, visit func(explore.Event, state)) {
	v := func(what string, change func(n *state)) {
		n := s
		change(&n)
		n.settle()
		visit(explore.Step(what), n)
	}
	m.holds(s, v)
	for i, r := range s.requests {
		if r.kind != none {
			m.network(s, i, v)
		}
	}
	m.waits(s, v)
	if s.left.passes > 0 {
		v("somebody passes by and obtains the key", func(n *state) {
			if n.run(m, call{kind: obtain, by: passer}) == done {
				n.left.passes--
			}
		})
	}
	m.breakers(s, v)
	m.tick(s, v)
}

// holds has the steps of the holder.
func (m *program) holds(s state, v visitor) {
	switch {
	case s.lock.is == crashed:
		return
	case s.lock.is == held:
		v("the holder crashes", func(n *state) { n.lock.is, n.lock.notice = crashed, false })
		if s.left.renewals > 0 && s.requests[1].kind == none {
			v("the holder sends a renewal", func(n *state) {
				n.left.renewals--
				n.send(m, renewal)
			})
		}
		if s.lock.notice {
			v("the notice of the Break is lost", func(n *state) { n.lock.notice = false })
		}
		if s.lock.notice && s.requests[1].kind == none {
			v("the holder hears of the Break, and asks", func(n *state) {
				n.lock.notice = false
				n.send(m, check)
			})
		}
	case s.lock.clearing && s.requests[1].kind == none && s.requests[0].kind != cleanup:
		v("the clean-up sends", func(n *state) { n.send(m, cleanup) })
	}
	if s.lock.is == held && m.releases && s.requests[1].kind == none {
		v("the holder releases", func(n *state) {
			n.lock.is, n.lock.notice = released, false
			if m.leaves > 0 {
				n.lock.keep = max(n.lock.keep, n.now+m.leaves)
			}
			n.send(m, release)
		})
	}
}

// send sends a request of the holder.
func (s *state) send(m *program, k kind) {
	r := request{kind: k, sent: s.now, after: s.broken > 0}
	if k == release || k == cleanup {
		r.rest = max(0, s.lock.keep-s.now)
	}
	if k == cleanup && m.without == keeps {
		r.rest = 0
	}
	if k == cleanup && m.without == rest && s.lock.keep > 0 {
		r.rest = max(m.holdAtLeast, m.leaves)
	}
	s.requests[1] = r
}

// network has what happens to a request.
func (m *program) network(s state, i int, v visitor) {
	r := s.requests[i]
	if r.reply == flies {
		v(names[r.kind]+" is executed", func(n *state) {
			n.requests[i].reply = n.run(m, call{kind: r.kind, by: holder, rest: r.rest, sent: r.sent})
		})
	} else {
		v(names[r.kind]+" is answered", func(n *state) {
			n.requests[i] = request{}
			n.takeIn(m, r)
		})
	}
	if s.left.losses > 0 && s.lock.is != crashed {
		lose := func(n *state) {
			n.left.losses--
			n.lock.clearing = n.lock.clearing || r.kind == release
		}
		v(names[r.kind]+", or its answer, is lost", func(n *state) {
			n.requests[i] = request{}
			lose(n)
		})
		if r.kind == release && r.reply == flies && !s.lock.clearing {
			v("nobody waits any more for the release, which comes late", lose)
		}
	}
}

var names = [...]string{renewal: "a renewal", check: "the question of the holder", release: "the release", cleanup: "a clean-up"}

// takeIn takes in an answer.
func (s *state) takeIn(m *program, r request) {
	if s.lock.is == crashed {
		return
	}
	switch r.kind {
	case renewal:
		if r.reply == done && s.lock.is == held {
			s.lock.deadline = max(s.lock.deadline, r.sent+m.ttl)
		}
		if r.reply == notOurs {
			s.lose(m)
		}
	case check:
		if r.reply == notOurs {
			s.lose(m)
		}
	case cleanup:
		s.lock.clearing = false
	}
	if r.after && r.reply == notOurs && s.lock.is == held {
		s.wrong = ignores
	}
}

// lose declares the lock lost.
func (s *state) lose(m *program) {
	if s.lock.is == held && m.without != learns {
		s.lock.is, s.lock.notice = lost, false
		s.lock.told++
	}
}

// waits has the steps of the one who stands in line.
func (m *program) waits(s state, v visitor) {
	q := s.queuer
	switch {
	case q.is == has:
		v("the waiter releases", func(n *state) {
			n.queuer = queuer{is: gone}
			n.run(m, call{kind: release, by: waiter})
		})
	case q.is != stands:
	case q.granted:
		v("the waiter hears that it was granted the key", func(n *state) { n.queuer = queuer{is: has} })
	case q.head > 0:
		v("the waiter hears when the key is free", func(n *state) {
			if n.queuer.head = 0; q.timer == 0 || q.timer > q.head {
				n.queuer.timer = q.head
			}
		})
	case q.timer > 0 && s.now >= q.timer:
		v("the waiter asks", func(n *state) {
			if n.queuer.timer = 0; n.run(m, call{kind: obtain, by: waiter}) == done {
				n.queuer = queuer{is: has}
				return
			}
			n.queuer.timer = n.server.till
		})
	}
}

// breakers has the steps of the one who breaks the lock.
func (m *program) breakers(s state, v visitor) {
	if m.breaks && s.breaking <= asks && s.sent < copies {
		v("the Break is sent", func(n *state) {
			n.breaking = asks
			n.sent++
			n.flying++
		})
	}
	if s.flying > 0 {
		v("a Break is executed", func(n *state) {
			n.flying--
			n.run(m, call{kind: breakUp})
		})
	}
	switch {
	case s.breaking == asks && s.flying < s.sent:
		v("the Break is answered", func(n *state) { n.breaking = answered })
		fallthrough
	case s.breaking == asks:
		v("nobody waits any more for the Break", func(n *state) { n.breaking = unknown })
	case s.breaking == unknown:
		v("the clean-up of the Break is executed, and answered", func(n *state) {
			n.breaking = closed
			n.run(m, call{kind: withdraw})
		})
	}
}

// tick has time pass, unless somebody is to hear or to ask at this moment.
func (m *program) tick(s state, v visitor) {
	q := s.queuer
	if s.now == m.last || q.is == stands && (q.head > 0 || q.timer > 0 && s.now >= q.timer && !q.granted) {
		return
	}
	if s.lock.is == held && s.lock.deadline == s.now+1 {
		v("the deadline comes", func(n *state) {
			n.lock.is, n.lock.notice = lost, false
			n.lock.told++
		})
		return
	}
	v("time passes", func(n *state) {
		n.now++
		n.expire()
	})
}
