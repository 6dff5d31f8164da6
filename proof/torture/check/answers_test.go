package check_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// TestRefusals has refusals for which nobody is to be seen who was in the way, and what may have been in the way all the same.
func TestRefusals(t *testing.T) {
	const refused = `
			900 2.1 call obtain read=a ttl=6000
			905 2.1 return refused held=write inway=a`
	try(t, []sample{
		{name: "nothing", promise: check.Answers, says: "nobody can have held", text: refused},
		{name: "by nodes that did not agree", text: `
			900 2.1 call obtain read=a ttl=6000 package=quorum
			905 2.1 return refused held=write inway=a`},
		{name: "by what was obtained together with the key", text: `
			900 2.1 call obtain write=a ttl=6000 package=reentrant owner=x
			905 2.1 return refused held=read inway=b`},
		{name: "by replicas", text: `
			900 2.1 call obtain write=a ttl=6000
			905 2.1 return refused is=ErrNotObtained,ErrNotReplicated`},
		{name: "by a server that has restarted", text: `
			900 2.1 call obtain write=a ttl=6000
			905 2.1 return refused held=restarted inway=a`},
		{name: "by a fault", text: `
			890 0.1 fault name=cut` + refused + `
			910 0.1 healed`},
		{name: "by an answer that took too long", text: `
			900 2.1 call obtain write=a ttl=600
			1500 2.1 return refused is=ErrNotObtained`},
		{name: "to a waiter that did not run", text: `
			0 2.1 call obtain write=a ttl=6000 way=queue
			5 2.1 waiting
			9000 2 stall for=8000
			9005 2.1 return refused is=ErrNotObtained held=write inway=a`},
		{name: "to a waiter with a short lease", text: `
			0 2.1 call obtain write=a ttl=600 way=queue
			5 2.1 waiting
			9005 2.1 return refused is=ErrNotObtained held=write inway=a`},
		{name: "by an obtain whose outcome nobody knows", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return unknown` + refused},
		{name: "by a process that was killed", text: `
			0 1.1 call obtain write=a ttl=600
			5 0 killed op=1` + refused},
		{name: "by another hold of the token", text: `
			0 1.1 call obtain write=a ttl=60000 token=x
			5 1.1 return ok until=590
			10 1.2 call release lock=1
			15 1.2 return ok` + refused},
		{name: "by a lease that has not ended", text: `
			0 1.1 call obtain write=a ttl=1000
			5 1.1 return ok until=980` + refused},
		{name: "by a lease that has ended", promise: check.Answers, says: "nobody can have held", text: `
			0 1.1 call obtain write=a ttl=500
			5 1.1 return ok until=490` + refused},
		{name: "by a lease that a watchdog may have renewed", text: `
			0 1.1 call obtain write=a ttl=500
			5 1.1 return ok until=490 renewed` + refused},
		{name: "by a lease that may have become longer", text: `
			0 1.1 call obtain write=a ttl=500
			5 1.1 return ok until=490
			10 1.2 call refresh lock=1 ttl=60000
			15 1.2 return unknown until=490` + refused},
		{name: "by a lease that has become longer", text: `
			0 1.1 call obtain write=a ttl=500
			5 1.1 return ok until=490
			10 1.2 call refresh lock=1 ttl=6000
			15 1.2 return ok until=5900` + refused},
		{name: "by a key that may have been left", text: `
			0 1.1 call obtain write=a ttl=500
			5 1.1 return ok until=490
			10 1.2 call leave lock=1 kept=2000
			15 1.2 return unknown` + refused},
		{name: "by a key that was left", text: `
			0 1.1 call obtain write=a ttl=500
			5 1.1 return ok until=490
			10 1.2 call leave lock=1 kept=2000
			15 1.2 return ok` + refused},
		{name: "by a key that was left long ago", promise: check.Answers, says: "nobody can have held", text: `
			0 1.1 call obtain write=a ttl=500
			5 1.1 return ok until=490
			10 1.2 call leave lock=1 kept=200
			15 1.2 return ok` + refused},
		{name: "by a leader, whose obtain nobody has seen", text: `
			850 1.1 call lead write=a package=election until=1000
			870 1.1 return ok until=1000` + refused},
		{name: "by one that only read", promise: check.Answers, says: "nobody can have held", text: `
			0 1.1 call obtain read=a ttl=6000
			5 1.1 return ok until=5900` + refused},
		{name: "by one that read, and then wrote", text: `
			0 1.1 call obtain read=a ttl=6000
			5 1.1 return ok until=5900
			10 1.2 call upgrade lock=1
			15 1.2 return ok until=5900` + refused},
	})
}

func TestAnswers(t *testing.T) {
	try(t, []sample{
		{name: "an error for nothing", promise: check.Answers, says: "has failed, and no fault explains it: ERR what is this", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return failed error=ERR_what_is_this`},
		{name: "an error by a fault", text: `
			0 0.1 fault name=oom
			1 1.1 call obtain write=a ttl=600
			5 1.1 return failed error=OOM
			6 0.1 healed
			7 1.2 call obtain write=a ttl=600
			9 1.2 return failed error=OOM`},
		{name: "an error long after a fault", promise: check.Answers, says: "OOM", text: `
			0 0.1 fault name=oom
			6 0.1 healed
			7000 1.2 call obtain write=a ttl=600
			7100 1.2 return failed error=OOM`},
		{name: "a caller that has had enough", text: `
			0 1.1 call refresh lock=7 ttl=600
			5 1.1 return failed is=Cause`},
		{name: "an answer that came too late", text: `
			0 1.1 call obtain write=a ttl=60
			500 1.1 return failed is=ErrNotObtained`},
		{name: "a quorum of slow nodes", text: `
			0 1.1 call obtain write=a ttl=600 package=quorum
			500 1.1 return failed error=nodes[0]:_no_answer_yet;_nodes[1]:_not_asked:_it_has_not_answered_in_time_before`},
		{name: "not held for nothing", promise: check.Answers, says: "lock 1 of process 1 is not held", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			10 1.2 call refresh lock=1 ttl=6000
			15 1.2 return notheld is=ErrLockNotHeld`},
		{name: "not held after the lease", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590
			610 1.2 call refresh lock=1 ttl=6000
			615 1.2 return notheld is=ErrLockNotHeld`},
		{name: "lost a little before its deadline, because it is watched", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched=true
			565 1.2 call refresh lock=1 ttl=600
			566 1.2 return notheld is=ErrLockNotHeld
			570 1 lost lock=1 until=590`},
		{name: "lost before its deadline, and not watched", promise: check.Answers, says: "lock 1 of process 1 is not held", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590
			565 1.2 call refresh lock=1 ttl=600
			566 1.2 return notheld is=ErrLockNotHeld`},
		{name: "not held after a release", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			10 1.2 call release lock=1
			11 1.3 call ttl lock=1
			12 1.3 return notheld is=ErrLockNotHeld
			15 1.2 return ok`},
		{name: "released while it asked", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			10 1.2 call refresh lock=1 ttl=6000
			11 1.3 call release lock=1
			12 1.2 return notheld is=ErrLockNotHeld
			15 1.3 return ok`},
		{name: "released under its token by another one", text: `
			0 1.1 call obtain write=a ttl=6000 token=x
			5 1.1 return ok until=5900
			6 2.1 call attach write=a token=x
			7 2.1 return ok
			8 2.2 call release lock=1
			9 2.2 return ok
			10 1.2 call refresh lock=1 ttl=6000
			12 1.2 return notheld is=ErrLockNotHeld`},
		{name: "not held by one of the holds of an owner", text: `
			0 1.1 call obtain write=a ttl=6000 package=reentrant owner=x
			5 1.1 return ok until=5900
			10 1.2 call refresh lock=1 ttl=6000
			12 1.2 return notheld is=ErrLockNotHeld`},
		{name: "not held after a break", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			7 2.1 call break write=a
			8 2.1 return ok
			10 1.2 call release lock=1
			15 1.2 return notheld`},
		{name: "refused by one that holds it", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			10 2.1 call obtain read=a ttl=6000
			15 2.1 return refused held=write inway=a`},
		{name: "refused by nobody", promise: check.Answers, says: "nobody can have held or wanted", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			6 1.2 call release lock=1
			7 1.2 return ok
			10 2.1 call obtain read=a ttl=6000
			15 2.1 return refused held=write inway=a`},
		{name: "refused by readers to a reader", promise: check.Answers, says: "nobody can have held", text: `
			0 1.1 call obtain read=a ttl=6000
			5 1.1 return ok until=5900
			10 2.1 call obtain read=a ttl=6000
			15 2.1 return refused held=read inway=a`},
		{name: "refused by one whose release was not answered", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590
			6 1.2 call release lock=1
			7 1.2 return unknown
			500 2.1 call obtain read=a ttl=6000
			505 2.1 return refused held=write inway=a`},
		{name: "refused by a key that was left", text: `
			0 1.1 call obtain write=a ttl=600 kept=1000
			5 1.1 return ok until=590
			6 1.2 call release lock=1
			7 1.2 return ok
			900 2.1 call obtain read=a ttl=6000
			905 2.1 return refused held=write-left inway=a`},
		{name: "refused by one who waited a moment ago", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590
			6 3.1 call obtain write=a ttl=600 way=queue
			7 3.1 waiting
			8 3.1 return refused held=write
			9 1.2 call release lock=1
			10 1.2 return ok
			900 2.1 call obtain read=a ttl=6000
			905 2.1 return refused held=queue inway=a`},
		{name: "a waiter that is not woken", promise: check.Answers, says: "nobody can have held or wanted", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			6 2.1 call obtain write=a ttl=6000 way=queue wait=9000
			7 2.1 waiting
			9 1.2 call release lock=1
			10 1.2 return ok
			9009 2.1 return refused held=write inway=a is=ErrWaitOver,ErrNotObtained`},
		{name: "a waiter that has had enough", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			6 2.1 call obtain write=a ttl=6000 way=queue wait=2000
			7 2.1 waiting
			9 1.2 call release lock=1
			10 1.2 return ok
			2009 2.1 return refused held=write inway=a is=ErrWaitOver,ErrNotObtained`},
	})
}

// TestUnsupported has what an owner cannot have beside what it holds, and what a plain lock can always have.
func TestUnsupported(t *testing.T) {
	const unsupported = ` fenced
			5 1.1 return failed is=ErrUnsupported error=unsupported`
	try(t, []sample{
		{name: "beside a hold without a number", text: `
			0 1.1 call obtain write=a ttl=600 package=reentrant owner=x` + unsupported},
		{name: "beside nothing", promise: check.Answers, says: "has failed", text: `
			0 1.1 call obtain write=a ttl=600` + unsupported},
	})
}
