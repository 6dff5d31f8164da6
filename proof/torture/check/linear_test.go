package check_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

func TestLinear(t *testing.T) {
	samples := []sample{
		{name: "reads and writes", text: `
			0 1.1 call obtain read=a,b ttl=600000
			1 2.1 call obtain read=a ttl=600000
			5 1.1 return ok until=590000
			6 2.1 return ok until=590000
			10 1.2 call upgrade lock=1
			15 1.2 return refused until=590000 held=read inway=a
			20 2.2 call release lock=1
			21 1.3 call upgrade lock=1
			22 1.3 return ok until=590000
			25 2.2 return ok
			30 3.1 call obtain read=b ttl=600000
			35 3.1 return refused held=write inway=b
			40 1.4 call downgrade lock=1
			41 3.2 call obtain read=b ttl=600000
			45 3.2 return ok until=590000
			46 1.4 return ok until=590000
			47 1.5 call releasekeys read=a lock=1
			48 1.5 return ok
			49 1.6 call ttl lock=1
			50 1.6 return ok
			51 4.1 call obtain write=a ttl=600000
			52 4.1 return ok until=590000
			53 1.7 call release lock=1
			54 1.7 return ok`},
		{name: "a stale answer", promise: check.Linear, says: "obtain 2 of process 2", text: `
			0 1.1 call obtain write=a ttl=600000
			4 2.1 call obtain write=a ttl=600000
			5 2.1 return refused held=write inway=a
			6 2.2 call obtain write=a ttl=600000
			7 2.2 return ok until=590000
			8 2.3 call release lock=2
			9 2.3 return ok
			20 1.1 return ok until=590000`},
		{name: "a release that was not answered", text: `
			0 1.1 call obtain write=a ttl=600000
			4 1.1 return ok until=590000
			5 1.2 call release lock=1
			7 1.2 return unknown
			10 2.1 call obtain write=a ttl=600000
			11 2.1 return refused held=write inway=a
			20 2.2 call obtain write=a ttl=600000
			21 2.2 return ok until=590000`},
		{name: "held once more after a release that was not answered", promise: check.Linear, says: "obtain", text: `
			0 1.1 call obtain write=a ttl=600000
			4 1.1 return ok until=590000
			5 1.2 call release lock=1
			7 1.2 return unknown
			20 2.2 call obtain write=a ttl=600000
			21 2.2 return ok until=590000
			22 2.3 call release lock=2
			23 2.3 return ok
			30 2.1 call obtain write=a ttl=600000
			31 2.1 return refused held=write inway=a`},
		{name: "an obtain of a process that was killed", text: `
			0 1.1 call obtain write=a ttl=600000
			1 0 killed op=1
			10 2.1 call obtain write=a ttl=600000
			11 2.1 return ok until=590000
			12 2.2 call release lock=1
			13 2.2 return ok
			20 2.3 call obtain write=a ttl=600000
			21 2.3 return refused held=write inway=a`},
		{name: "a break", text: `
			0 1.1 call obtain write=a,b ttl=600000
			4 1.1 return ok until=590000
			5 3.1 call break write=a
			8 3.1 return ok
			10 2.1 call obtain write=a ttl=600000
			11 2.1 return ok until=590000
			12 2.4 call obtain write=b ttl=600000
			13 2.4 return refused held=write inway=b
			14 1.2 call release lock=1
			15 1.2 return notheld is=ErrLockNotHeld
			16 2.5 call obtain write=b ttl=600000
			17 2.5 return ok until=590000`},
		{name: "in line", text: `
			0 1.1 call obtain write=a ttl=600000
			4 1.1 return ok until=590000
			5 2.1 call obtain write=a ttl=600000 way=queue
			6 2.1 waiting
			8 1.2 call release lock=1
			10 3.1 call obtain write=a ttl=600000
			11 3.1 return refused held=write inway=a
			15 1.2 return ok
			16 2.1 return ok until=590000`},
		{name: "an obtain whose outcome nobody knows", text: `
			0 1.1 call obtain write=a ttl=600000
			5 1.1 return unknown
			10 2.1 call obtain write=a ttl=600000
			11 2.1 return refused held=write inway=a
			20 2.2 call obtain write=a ttl=600000
			21 2.2 return ok until=590000`},
		{name: "a lock with a token", text: `
			0 1.1 call obtain write=a ttl=600000 token=x
			5 1.1 return ok until=590000
			10 2.1 call obtain write=a ttl=600000
			11 2.1 return refused held=write inway=a`},
		{name: "an upgrade whose outcome nobody knows", text: `
			0 1.1 call obtain read=a ttl=600000
			5 1.1 return ok until=590000
			6 1.2 call upgrade lock=1
			7 1.2 return unknown until=590000
			10 2.1 call obtain read=a ttl=600000
			11 2.1 return refused held=write inway=a`},
		{name: "a downgrade whose outcome nobody knows", text: `
			0 1.1 call obtain write=a ttl=600000
			5 1.1 return ok until=590000
			6 1.2 call downgrade lock=1
			7 1.2 return unknown until=590000
			10 2.1 call obtain read=a ttl=600000
			11 2.1 return refused held=write inway=a
			12 2.2 call obtain read=a ttl=600000
			13 2.2 return ok until=590000
			14 1.3 call release lock=1
			15 1.3 return ok`},
		{name: "a refresh of what another one has", promise: check.Linear, says: "2", text: `
			0 1.1 call obtain write=a ttl=600000
			4 1.1 return ok until=590000
			5 3.1 call break write=a
			8 3.1 return ok
			10 2.1 call obtain write=a ttl=600000
			11 2.1 return ok until=590000
			12 1.2 call refresh lock=1 ttl=600000
			13 1.2 return ok until=590000`},
		{name: "an upgrade that nobody was in the way of", promise: check.Linear, says: "upgrade 2", text: `
			0 1.1 call obtain read=a ttl=600000
			4 1.1 return ok until=590000
			12 1.2 call upgrade lock=1
			13 1.2 return refused held=read inway=a until=590000`},
		{name: "not held, and held by nobody else", promise: check.Linear, says: "obtain 1 of process 2", text: `
			0 1.1 call obtain write=a,b ttl=600000
			4 1.1 return ok until=590000
			5 3.1 call break write=b
			6 1.2 call refresh lock=1 ttl=600000
			7 1.2 return notheld
			8 2.1 call obtain write=b ttl=600000
			9 2.1 return refused held=write inway=b
			10 3.1 return ok`},
		{name: "a release of what another one has", promise: check.Linear, says: "release 2 of process 1", text: `
			0 1.1 call obtain write=a ttl=600000
			4 1.1 return ok until=590000
			5 3.1 call break write=a
			8 3.1 return ok
			10 2.1 call obtain write=a ttl=600000
			11 2.1 return ok until=590000
			12 1.2 call release lock=1
			13 1.2 return ok
			14 2.2 call refresh lock=1 ttl=600000
			15 2.2 return ok until=590000`},
		{name: "released by itself, whatever the servers know", text: `
			0 1.1 call obtain write=a ttl=600000
			4 1.1 return ok until=590000
			5 1.2 call release lock=1
			7 1.2 return unknown
			8 1.3 call refresh lock=1 ttl=600000
			9 1.3 return notheld
			10 2.1 call obtain write=a ttl=600000
			11 2.1 return refused held=write inway=a`},
		{name: "refused because of one that gave up, and gives back", text: `
			0 1.1 call obtain write=b ttl=600000
			4 1.1 return ok until=590000
			5 2.1 call obtain write=a,b ttl=600000 way=poll
			7 2.1 waiting
			8 2.1 return refused held=write inway=b
			10 3.1 call obtain write=a ttl=600000
			11 3.1 return refused held=write inway=a`},
		{name: "refused because of those who wait", text: `
			0 1.1 call obtain write=b ttl=600000
			4 1.1 return ok until=590000
			5 2.1 call obtain write=a,b ttl=600000 way=queue
			7 2.1 waiting
			10 3.1 call obtain write=a ttl=600000
			11 3.1 return refused held=queue inway=a
			20 1.2 call release lock=1
			21 1.2 return ok
			22 2.1 return ok until=590000`},
		{name: "left", text: `
			0 1.1 call obtain write=a ttl=600000
			4 1.1 return ok until=590000
			5 1.2 call leave kept=1000 lock=1
			8 1.2 return ok
			20 3.1 call obtain write=a ttl=600000
			21 3.1 return refused held=write-left inway=a
			1015 2.1 call obtain write=a ttl=600000
			1016 2.1 return ok until=590000`},
	}
	for i := range samples {
		samples[i].endless = true
	}
	try(t, samples)
}

// TestLinearizeGivesUp shows that a search which was too short is no finding, and does not count.
func TestLinearizeGivesUp(t *testing.T) {
	s := simulate(2, profile{name: "calm", endless: true}, overlap)
	found, looked, undecided := check.Linearize(&s.log, 0)
	if len(found) != 0 || looked != 0 || undecided == 0 {
		t.Errorf("without time: %d findings, %d operations looked at, %d undecided; want 0, 0, all", len(found), looked, undecided)
	}
	found, looked, undecided = check.Linearize(&s.log, time.Hour)
	if len(found) == 0 || looked == 0 || undecided != 0 {
		t.Errorf("with time: %d findings, %d operations looked at, %d undecided; want some, all, 0", len(found), looked, undecided)
	}
}
