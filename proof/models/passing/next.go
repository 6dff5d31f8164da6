package passing

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A stepper visits the states that follow one.
type stepper struct {
	m     *program
	s     state
	visit func(explore.Event, state)
}

// do visits what follows when something is done with a copy of the state, by or with caller p, if that is not negative.
func (v *stepper) do(p int, format string, change func(x *script)) {
	n := v.s
	n.wrong = right
	change(&script{&n, v.m})
	n.owned()
	n.settle()
	if p < 0 {
		v.visit(explore.Step(format), n)
		return
	}
	v.visit(explore.Step(format, p), n)
}

// spend does something that may happen a few times only.
func (v *stepper) spend(of func(*budget) *int8, p int, format string, change func(x *script)) {
	if *of(&v.s.left) == 0 {
		return
	}
	v.do(p, format, func(x *script) {
		*of(&x.left)--
		change(x)
	})
}

func renewals(b *budget) *int8 { return &b.renewals }
func losses(b *budget) *int8   { return &b.losses }
func sleeps(b *budget) *int8   { return &b.sleeps }
func touches(b *budget) *int8  { return &b.touches }
func tokens(b *budget) *int8   { return &b.tokens }
func raises(b *budget) *int8   { return &b.raises }
func cancels(b *budget) *int8  { return &b.cancels }
func kills(b *budget) *int8    { return &b.kills }
func others(b *budget) *int8   { return &b.others }
func talks(b *budget) *int8    { return &b.talks }
func leaving(b *budget) *int8  { return &b.leaves }
func breaks(b *budget) *int8   { return &b.breaks }

// next visits every state that one step leads to.
func (m *program) next(s state, visit func(explore.Event, state)) {
	v := stepper{m, s, visit}
	for p, c := range s.callers {
		if m.roles[p].ttl == 0 {
			continue
		}
		switch c.phase {
		case absent:
			v.do(p, "%d comes", func(x *script) {
				x.came++
				x.callers[p].phase, x.callers[p].arrived = local, x.came
			})
		case local:
			v.waits(p)
		case deciding:
			v.do(p, "%d leaves", func(x *script) { x.callers[p].phase = over })
		case asking:
			v.asks(p)
		case given:
			if s.release.token != 0 {
				break // of one that frees at the same time the model knows one request only
			}
			v.do(p, "%d wakes, to which the hold was passed on", func(x *script) { x.wake(p) })
		case holding:
			v.holds(p)
		case over:
			if c.passed && s.hold.token != 0 && m.without == silent {
				v.spend(talks, p, "the Lock of %d, which was passed on, is released again", func(x *script) {
					x.releases(release{token: x.hold.token})
				})
			}
		}
	}
	v.requests()
	v.others()
	v.time()
	v.killed()
}

// asks has what happens to the request of a caller.
func (v *stepper) asks(p int) {
	switch v.s.callers[p].answer {
	case flies:
		v.do(p, "the request of %d is executed", func(x *script) {
			answer := inLine
			if x.obtain(p) {
				answer = done
			}
			if x.callers[p].phase == asking {
				x.callers[p].answer = answer
			}
		})
	case done:
		v.do(p, "%d hears that it has the key", func(x *script) {
			x.callers[p].answer = flies
			x.obtained(p, x.callers[p].sent)
		})
	case inLine:
		v.do(p, "%d hears that it stands in line", func(x *script) {
			c := &x.callers[p]
			c.phase, c.answer, c.open = standing, flies, false
		})
	}
}

// waits has the steps of a caller that waits in the Client.
func (v *stepper) waits(p int) {
	if c := v.s.callers[p]; c.asked || (&script{&v.s, v.m}).localNext(false) == p {
		v.do(p, "%d asks", func(x *script) {
			x.callers[p].phase, x.callers[p].sent, x.callers[p].asked = asking, x.now, true
		})
	}
	if v.s.callers[p].asked {
		return // package local has how it leaves Redis
	}
	h := v.s.hold
	if v.m.without == oneState {
		v.spend(cancels, p, "%d decides to give up", func(x *script) { x.callers[p].phase = deciding })
	}
	live := h.token != 0 && !h.lost && v.s.now < h.deadline
	if has := v.s.callers[max(0, h.has-1)].phase; has != holding && has != given && v.m.without != onItsWay {
		live = false
	}
	if live || v.m.without == fresh || v.m.without == lives && h.lost {
		v.spend(cancels, p, "%d gives up, and names who has the key", func(x *script) {
			if !x.callers[p].sees {
				x.wrong = untrue
			}
			x.callers[p].phase = over
		})
	}
}

// holds has the steps of a holder.
func (v *stepper) holds(p int) {
	if v.s.release.token == 0 {
		v.do(p, "%d releases", func(x *script) { x.frees(p, false) })
		v.spend(leaving, p, "%d releases, and leaves the key for a tick", func(x *script) { x.frees(p, true) })
	}
	h := v.s.hold
	if v.s.renewal.token == 0 {
		v.spend(renewals, p, "%d is renewed: the request is sent", func(x *script) {
			x.renewal = renewal{token: h.token, by: int8(p + 1), sent: x.now}
		})
	}
	if v.s.server.owner == h.token && !v.s.server.cut {
		v.spend(touches, p, "%d gives a part of its set back", func(x *script) {
			x.server.cut = true
			x.hold.touched = int8(p + 1)
		})
	}
	if h.told == 0 {
		v.spend(tokens, p, "%d tells another process its token", func(x *script) { x.hold.told = int8(p + 1) })
	}
	if v.s.server.owner == h.token {
		for _, to := range []int8{h.last, h.last + 1} {
			if to > h.number {
				v.spend(raises, p, "%d raises its number, and is not answered", func(x *script) {
					x.greatest, x.server.fence = to, max(x.server.fence, to)
					x.hold.touched = int8(p + 1)
					if x.m.without != raised {
						x.hold.back = to
					}
				})
			}
		}
	}
}

// requests has what happens to the requests that are under way.
func (v *stepper) requests() {
	if r := v.s.release; r.token != 0 && r.done {
		v.do(int(r.token)-1, "the Release with the token of %d is answered", func(x *script) { x.answered(r.given) })
	} else if r.token != 0 {
		v.do(int(r.token)-1, "the Release with the token of %d is executed", func(x *script) {
			given := x.releases(r)
			x.release.done, x.release.given = true, given
		})
		if !r.again {
			v.spend(losses, int(r.token)-1, "the Release with the token of %d is executed, and its answer is lost", func(x *script) {
				x.releases(r)
				x.tryAgain()
			})
			v.spend(losses, int(r.token)-1, "the Release with the token of %d is not answered, and is late", func(x *script) {
				x.late = r
				x.tryAgain()
			})
		} else {
			v.do(int(r.token)-1, "the Release with the token of %d is sent once more", func(x *script) { x.release.sent = x.now })
		}
	}
	if r := v.s.late; r.token != 0 {
		v.do(int(r.token)-1, "the late Release with the token of %d is executed", func(x *script) {
			x.late = release{}
			x.releases(r)
		})
	}
	r := v.s.renewal
	switch {
	case r.token != 0 && !r.done:
		v.do(int(r.token)-1, "the renewal with the token of %d is executed", func(x *script) {
			if x.renewal.done = true; x.server.owner == r.token {
				x.renewal.says = true
				x.server.till = max(x.server.till, x.now+x.m.roles[r.token-1].ttl)
			}
		})
	case r.done:
		v.do(int(r.token)-1, "the renewal with the token of %d is answered", func(x *script) { x.renewed(r) })
	}
	v.stranger()
}

// stranger has what a process does that was told a token: it releases what somebody has who has not told it, or raises the number.
func (v *stepper) stranger() {
	h := v.s.hold
	if h.told == 0 || v.s.server.owner != h.token {
		return
	}
	if h.told != h.has {
		v.do(int(h.told)-1, "the process that knows the token of %d releases with it", func(x *script) { x.releases(release{token: h.token}) })
	}
	v.spend(raises, int(h.told)-1, "the process that knows the token of %d raises the number", func(x *script) {
		x.greatest = max(x.greatest, h.last)
	})
}

// tryAgain sends a Release once more that was not answered: alone, and whom it carried asks by itself.
func (x *script) tryAgain() {
	r := &x.release
	r.again, r.sent = true, x.now
	if w := int(r.carries) - 1; w >= 0 && x.m.without != laterTry {
		x.callers[w].phase, x.callers[w].open = local, true
		r.carries = 0
	}
}

// renewed takes in the answer to a renewal.
func (x *script) renewed(r renewal) {
	x.renewal = renewal{}
	h := &x.hold
	if h.token == 0 || h.lost || h.has == 0 || x.callers[h.has-1].phase != holding && x.callers[h.has-1].phase != given {
		return
	}
	if h.token != r.token && x.m.without != whosever {
		return
	}
	if !r.says {
		h.gone = true
		x.lose()
		return
	}
	till := r.sent + x.m.roles[r.token-1].ttl
	if x.now >= h.deadline {
		return
	}
	if r.by == h.has || x.m.without != itsOwn {
		h.deadline = max(h.deadline, till)
	}
	if h.deadline < till {
		x.wrong = notRenewed
	}
}

// others has the callers of another Client, and what the line does when a lease is over.
func (v *stepper) others() {
	k := v.s.server
	place := -1
	for i, arrived := range k.line {
		if arrived == 0 {
			place = i
		}
	}
	if place >= 0 {
		v.spend(others, -1, "one of another Client comes", func(x *script) {
			x.came++
			x.server.line[place] = x.came
			x.handOver()
		})
	}
	if p, i := v.s.first(); k.owner == nobody && (p >= 0 || i >= 0) {
		v.do(-1, "the first in line asks, because the lease is over", func(x *script) { x.handOver() })
	}
	if k.owner > nobody && k.owner <= callers {
		v.spend(breaks, int(k.owner)-1, "somebody breaks the hold with the token of %d", func(x *script) {
			x.server.broken = k.owner
			x.server.owner, x.server.till = nobody, 0
			x.handOver()
		})
	}
	if k.owner == other {
		v.do(-1, "the one of another Client releases", func(x *script) {
			x.server.owner, x.server.till = nobody, 0
			x.handOver()
		})
	}
}

// time has time pass.
func (v *stepper) time() {
	h := v.s.hold
	counts := h.has > 0 && !h.lost && v.s.callers[h.has-1].phase == holding
	if counts && v.s.now+1 >= h.deadline {
		v.do(int(h.has)-1, "the deadline of %d comes", func(x *script) { x.lose() })
		return
	}
	if v.s.now == v.m.last {
		return
	}
	v.do(-1, "time passes", func(x *script) {
		x.now++
		x.expire()
	})
	v.spend(sleeps, -1, "the machine sleeps for a tick", func(x *script) {
		x.now++
		x.hold.slept++
		x.expire()
	})
}

// killed has the process of the Client killed.
func (v *stepper) killed() {
	v.spend(kills, -1, "the process is killed", func(x *script) {
		for p := range x.callers {
			if x.callers[p].phase != over {
				x.callers[p].phase = dead
			}
		}
		if !x.release.again && x.release.token != 0 {
			x.late = x.release
		}
		x.release, x.hold, x.counting = release{}, hold{}, false
	})
}
