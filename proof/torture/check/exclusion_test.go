package check_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

func TestExclusion(t *testing.T) {
	try(t, []sample{
		{name: "one after the other", text: `
			0 1.1 call obtain write=a ttl=600
			10 1.1 return ok until=580
			100 1.2 call release lock=1
			105 2.1 call obtain write=a ttl=600
			106 2.1 return ok until=690
			110 1.2 return ok
			150 2.2 call release lock=1
			151 2.2 return ok`},
		{name: "two writers", promise: check.Exclusion, says: `lock 1 of process 1 writes "a"`, text: `
			0 1.1 call obtain write=a ttl=600
			10 1.1 return ok until=580
			105 2.1 call obtain write=a ttl=600
			106 2.1 return ok until=690
			150 2.2 call release lock=1
			151 2.2 return ok
			200 1.2 call release lock=1
			210 1.2 return ok`},
		{name: "a reader beside a writer", promise: check.Exclusion, says: `lock 1 of process 2 reads "b"`, text: `
			0 1.1 call obtain write=a,b ttl=600
			10 1.1 return ok until=580
			105 2.1 call obtain read=b ttl=600
			106 2.1 return ok until=690`},
		{name: "readers", text: `
			0 1.1 call obtain read=a,b ttl=600
			10 1.1 return ok until=580
			105 2.1 call obtain read=b ttl=600
			106 2.1 return ok until=690`},
		{name: "after the lease of one that was killed", text: `
			0 1.1 call obtain write=a ttl=600
			10 1.1 return ok until=580
			50 0 killed op=1
			590 2.1 call obtain write=a ttl=600
			606 2.1 return ok until=1190`},
		{name: "before the lease of one that was killed is over", promise: check.Exclusion, says: "both for", text: `
			0 1.1 call obtain write=a ttl=600
			10 1.1 return ok until=580
			50 0 killed op=1
			500 2.1 call obtain write=a ttl=600
			506 2.1 return ok until=1090`},
		{name: "a lease that was renewed", promise: check.Exclusion, says: "process 2", text: `
			0 1.1 call obtain write=a ttl=600
			10 1.1 return ok until=580 watched renewed
			200 1 renewal lock=1 until=790
			600 2.1 call obtain write=a ttl=600
			606 2.1 return ok until=1190
			700 1.2 call release lock=1
			701 1.2 return ok`},
		{name: "a refresh that may have shortened the lease", text: `
			0 1.1 call obtain write=a ttl=6000
			10 1.1 return ok until=5900
			100 1.2 call refresh lock=1 ttl=300
			400 2.1 call obtain write=a ttl=600
			406 2.1 return ok until=900
			500 1.2 return unknown`},
		{name: "a refresh that was refused for good", promise: check.Exclusion, says: "process 1", text: `
			0 1.1 call obtain write=a ttl=6000
			10 1.1 return ok until=5900
			100 1.2 call refresh lock=1 ttl=300
			110 1.2 return failed until=5900 is=Cause
			500 2.1 call obtain write=a ttl=600
			506 2.1 return ok until=1000`},
		{name: "a downgrade lets readers in", text: `
			0 1.1 call obtain write=a ttl=6000
			10 1.1 return ok until=5900
			100 1.2 call downgrade lock=1
			105 2.1 call obtain read=a ttl=600
			106 2.1 return ok until=700
			110 1.2 return ok until=6000`},
		{name: "a downgrade lets no writers in", promise: check.Exclusion, says: `lock 1 of process 1 reads "a"`, text: `
			0 1.1 call obtain write=a ttl=6000
			10 1.1 return ok until=5900
			100 1.2 call downgrade lock=1
			110 1.2 return ok until=6000
			120 2.1 call obtain write=a ttl=600
			130 2.1 return ok until=700`},
		{name: "an upgrade beside a reader", promise: check.Exclusion, says: `lock 1 of process 1 writes "a"`, text: `
			0 1.1 call obtain read=a ttl=6000
			5 1.1 return ok until=5900
			10 2.1 call obtain read=a ttl=6000
			15 2.1 return ok until=5900
			100 1.2 call upgrade lock=1
			110 1.2 return ok until=6000`},
		{name: "an upgrade that was refused", text: `
			0 1.1 call obtain read=a ttl=6000
			5 1.1 return ok until=5900
			10 2.1 call obtain read=a ttl=6000
			15 2.1 return ok until=5900
			100 1.2 call upgrade lock=1
			110 1.2 return refused until=5900 held=read inway=a`},
		{name: "keys that were released before the others", text: `
			0 1.1 call obtain write=a,b ttl=6000
			5 1.1 return ok until=5900
			10 1.2 call releasekeys write=b lock=1
			15 2.1 call obtain write=b ttl=6000
			18 1.2 return ok
			19 2.1 return ok until=5900`},
		{name: "a key that was not released with the others", promise: check.Exclusion, says: `"a"`, text: `
			0 1.1 call obtain write=a,b ttl=6000
			5 1.1 return ok until=5900
			10 1.2 call releasekeys write=b lock=1
			18 1.2 return ok
			30 2.1 call obtain write=a ttl=6000
			35 2.1 return ok until=5900`},
		{name: "a break", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			10 3.1 call break write=a
			15 2.1 call obtain write=a ttl=6000
			18 2.1 return ok until=5900
			20 3.1 return ok`},
		{name: "a break of a lock whose obtain has not returned", text: `
			0 1.1 call obtain write=a ttl=6000
			10 3.1 call break write=a
			15 2.1 call obtain write=a ttl=6000
			18 2.1 return ok until=5900
			20 3.1 return ok
			25 1.1 return ok until=5900`},
		{name: "a break of a lock whose obtain returned later than the break", text: `
			0 1.1 call obtain write=a ttl=6000
			10 3.1 call break write=a
			20 3.1 return ok
			21 2.1 call obtain write=a ttl=6000
			22 2.1 return ok until=5900
			25 1.1 return ok until=5900`},
		{name: "a break that came later", promise: check.Exclusion, says: "both for 72ms", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			20 2.1 call obtain write=a ttl=6000
			28 2.1 return ok until=5900
			100 3.1 call break write=a
			105 3.1 return ok`},
		{name: "a break that was over before", promise: check.Exclusion, says: "process 2", text: `
			0 3.1 call break write=a
			5 3.1 return ok
			10 1.1 call obtain write=a ttl=6000
			15 1.1 return ok until=5900
			20 2.1 call obtain write=a ttl=6000
			28 2.1 return ok until=5900`},
		{name: "a break that may be executed late", text: `
			0 3.1 call break write=a
			5 3.1 return unknown
			10 1.1 call obtain write=a ttl=6000
			15 1.1 return ok until=5900
			20 2.1 call obtain write=a ttl=6000
			28 2.1 return ok until=5900`},
		{name: "one token", text: `
			0 1.1 call obtain write=a ttl=6000 token=x
			5 1.1 return ok until=5900
			20 2.1 call obtain write=a ttl=6000 token=x
			28 2.1 return ok until=5900`},
		{name: "a release of the same token ends both", text: `
			0 1.1 call obtain write=a ttl=6000 token=x
			5 1.1 return ok until=5900
			20 2.1 call obtain write=a ttl=6000 token=x
			28 2.1 return ok until=5900
			30 2.2 call release lock=1
			35 2.2 return ok
			40 3.1 call obtain write=a ttl=6000
			45 3.1 return ok until=5950`},
		{name: "an obtain of the same token that may be undone", text: `
			0 1.1 call obtain write=a ttl=6000 token=x
			5 1.1 return ok until=5900
			20 2.1 call obtain write=a ttl=6000 token=x
			28 2.1 return unknown
			40 3.1 call obtain write=a ttl=6000
			45 3.1 return ok until=5950`},
		{name: "an obtain of the same token, to read", text: `
			0 1.1 call obtain write=a ttl=6000 token=x
			5 1.1 return ok until=5900
			20 2.1 call obtain read=a ttl=6000 token=x
			28 2.1 return ok until=5900
			40 3.1 call obtain read=a ttl=6000
			45 3.1 return ok until=5950`},
		{name: "left by one that did not know that it only read", text: `
			0 1.1 call obtain write=a ttl=6000 token=x
			5 1.1 return ok until=5900
			10 2.1 call obtain read=a ttl=6000 token=x
			15 2.1 return ok until=5900
			20 1.2 call leave kept=1000 lock=1
			21 1.2 return ok
			40 3.1 call obtain read=a ttl=6000
			45 3.1 return ok until=5950`},
		{name: "it was lost before the holder asked", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			6 0.1 fault name=flush
			7 0.1 healed
			10 1.2 call refresh lock=1 ttl=6000
			12 2.1 call obtain write=a ttl=6000
			15 2.1 return ok until=5900
			20 1.2 return notheld`},
		{name: "two tokens", promise: check.Exclusion, says: "process 2", text: `
			0 1.1 call obtain write=a ttl=6000 token=x
			5 1.1 return ok until=5900
			20 2.1 call obtain write=a ttl=6000 token=y
			28 2.1 return ok until=5900`},
		{name: "an attached handle releases", text: `
			0 1.1 call obtain write=a ttl=6000 token=x
			5 1.1 return ok until=5900
			20 2.1 call attach write=a token=x
			21 2.1 return ok
			22 2.2 call release lock=1
			30 3.1 call obtain write=a ttl=6000
			35 3.1 return ok until=5950
			36 2.2 return ok`},
		{name: "one owner", text: `
			0 1.1 call obtain write=a ttl=6000 package=reentrant owner=x
			5 1.1 return ok until=5900
			20 1.2 call obtain read=a ttl=6000 package=reentrant owner=x
			28 1.2 return ok until=5900`},
		{name: "two owners", promise: check.Exclusion, says: "process 1", text: `
			0 1.1 call obtain write=a ttl=6000 package=reentrant owner=x
			5 1.1 return ok until=5900
			20 1.2 call obtain read=a ttl=6000 package=reentrant owner=y
			28 1.2 return ok until=5900`},
		{name: "the other hold of the owner goes on", promise: check.Exclusion, says: "process 2", text: `
			0 1.1 call obtain write=a ttl=6000 package=reentrant owner=x
			5 1.1 return ok until=5900
			20 1.2 call obtain write=a ttl=6000 package=reentrant owner=x
			28 1.2 return ok until=5900
			30 1.3 call release lock=2
			31 1.3 return ok
			40 2.1 call obtain write=a ttl=6000
			45 2.1 return ok until=5900`},
		{name: "keys of a quorum are others", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			20 2.1 call obtain write=a ttl=6000 package=quorum
			28 2.1 return ok until=5900`},
		{name: "two of a quorum", promise: check.Exclusion, says: "process 2", text: `
			0 1.1 call obtain write=a ttl=6000 package=quorum
			5 1.1 return ok until=5900
			20 2.1 call obtain write=a ttl=6000 package=quorum
			28 2.1 return ok until=5900`},
		{name: "two terms", promise: check.Exclusion, says: "process 2", text: `
			0 1.1 call lead write=a package=election until=500
			100 2.1 call lead write=a package=election until=600
			200 2.1 return ok until=600
			300 1.1 return ok until=500`},
		{name: "a leader that was stopped", text: `
			0 1.1 call lead write=a package=election until=500
			600 2.1 call lead write=a package=election until=1100
			700 2.1 return ok until=1100
			800 1 stall for=700
			801 1.1 return ok until=500`},
		{name: "left and granted when the time was over", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			10 1.2 call leave kept=1000 lock=1
			15 1.2 return ok
			1000 2.1 call obtain write=a ttl=600
			1010 2.1 return ok until=1590`},
		{name: "left and granted too early", promise: check.Exclusion, says: `keeps "a" taken`, text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900
			10 1.2 call leave kept=1000 lock=1
			15 1.2 return ok
			800 2.1 call obtain write=a ttl=600
			810 2.1 return ok until=1390`},
		{name: "held at least, and granted too early", promise: check.Exclusion, says: `keeps "a" taken`, text: `
			0 1.1 call obtain write=a ttl=6000 kept=1000
			5 1.1 return ok until=5900
			10 1.2 call release lock=1
			15 1.2 return ok
			800 2.1 call obtain write=a ttl=600
			810 2.1 return ok until=1390`},
		{name: "a key that was read was left to readers", text: `
			0 1.1 call obtain read=a ttl=6000 kept=1000
			5 1.1 return ok until=5900
			10 1.2 call release lock=1
			15 1.2 return ok
			800 2.1 call obtain read=a ttl=600
			810 2.1 return ok until=1390`},
		{name: "a key that was left was broken", text: `
			0 1.1 call obtain write=a ttl=6000 kept=1000
			5 1.1 return ok until=5900
			10 1.2 call release lock=1
			15 1.2 return ok
			20 3.1 call break write=a
			25 3.1 return ok
			800 2.1 call obtain write=a ttl=600
			810 2.1 return ok until=1390`},
		{name: "left, and taken back under the token", promise: check.Exclusion, says: `keeps "a" taken`, text: `
			0 1.1 call obtain write=a ttl=6000 token=x
			5 1.1 return ok until=5900
			10 1.2 call leave kept=1000 lock=1
			15 1.2 return ok
			100 2.1 call obtain write=a ttl=600 token=x
			110 2.1 return ok until=690`},
		{name: "the holder knows that it is lost", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900 watched
			50 0.1 fault name=flush
			51 0.1 healed
			60 2.1 call obtain write=a ttl=6000
			100 1 lost lock=1 until=5900
			110 2.1 return ok until=6000`},
	})
}
