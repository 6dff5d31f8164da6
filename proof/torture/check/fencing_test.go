package check_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

func TestFencing(t *testing.T) {
	try(t, []sample{
		{name: "numbers that grow", text: `
			0 1.1 call obtain write=a,b ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			10 1.2 call release lock=1
			15 1.2 return ok
			20 2.1 call obtain read=b ttl=600 fenced
			25 2.1 return ok until=500 fence=8`},
		{name: "a number that does not grow", promise: check.Fencing, says: `given 7 for "b", after obtain 1 of process 1 had 7`, text: `
			0 1.1 call obtain write=a,b ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			10 1.2 call release lock=1
			15 1.2 return ok
			20 2.1 call obtain write=b ttl=600 fenced
			25 2.1 return ok until=500 fence=7`},
		{name: "two readers that came together", text: `
			0 1.1 call obtain read=a ttl=600 fenced
			1 2.1 call obtain read=a ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			25 2.1 return ok until=500 fence=6`},
		{name: "two readers one after the other", promise: check.Fencing, says: "given 6", text: `
			0 1.1 call obtain read=a ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			10 2.1 call obtain read=a ttl=600 fenced
			25 2.1 return ok until=500 fence=6`},
		{name: "other keys", text: `
			0 1.1 call obtain write=a ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			10 2.1 call obtain read=b ttl=600 fenced
			25 2.1 return ok until=500 fence=6`},
		{name: "locks of several parts have several numbers", text: `
			0 1.1 call obtain write=a,b ttl=600 fenced package=multi
			5 1.1 return ok until=500 fence=7
			6 1.2 call release lock=1
			7 1.2 return ok
			10 2.1 call obtain write=b,c ttl=600 fenced package=multi
			25 2.1 return ok until=500 fence=5`},
		{name: "one hold of a token", text: `
			0 1.1 call obtain write=a ttl=600 fenced token=x
			5 1.1 return ok until=500 fence=7
			10 2.1 call obtain write=a ttl=600 fenced token=x
			25 2.1 return ok until=500 fence=7`},
		{name: "holds of an owner", text: `
			0 1.1 call obtain read=a ttl=600 fenced package=reentrant owner=x
			5 1.1 return ok until=500 fence=7
			10 2.1 call obtain read=a ttl=600 fenced
			25 2.1 return ok until=500 fence=9
			30 1.2 call obtain read=a ttl=600 fenced package=reentrant owner=x
			35 1.2 return ok until=500 fence=7`},
		{name: "an upgrade has a new number", promise: check.Fencing, says: "upgrade 2 of process 1", text: `
			0 1.1 call obtain read=a ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			6 2.1 call obtain read=a ttl=600 fenced
			7 2.1 return ok until=500 fence=8
			8 2.2 call release lock=1
			9 2.2 return ok
			10 1.2 call upgrade write=a lock=1
			25 1.2 return ok until=500 fence=7`},
		{name: "an upgrade of what is written already", text: `
			0 1.1 call obtain read=a ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			10 1.2 call upgrade write=a lock=1
			25 1.2 return ok until=500 fence=8
			30 1.3 call upgrade write=a lock=1
			35 1.3 return ok until=500 fence=8`},
		{name: "an upgrade of what is written, beside a lock of a shard that was away", promise: check.Exclusion, says: "overlap", text: `
			0 1.1 call obtain write=a ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			6 2.1 call obtain write=a ttl=600 fenced
			7 2.1 return ok until=500 fence=8
			10 1.2 call upgrade write=a lock=1
			25 1.2 return ok until=500 fence=7`},
		{name: "an upgrade of what was lowered", promise: check.Fencing, says: "upgrade 3 of process 1", text: `
			0 1.1 call obtain write=a ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			10 1.2 call downgrade read=a lock=1
			15 1.2 return ok until=500 fence=7
			20 2.1 call obtain read=a ttl=600 fenced
			21 2.1 return ok until=500 fence=8
			22 2.2 call release lock=1
			23 2.2 return ok
			30 1.3 call upgrade write=a lock=1
			35 1.3 return ok until=500 fence=7`},
		{name: "an upgrade of one of two holds of a token", text: `
			0 1.1 call obtain read=a ttl=600 fenced token=x
			5 1.1 return ok until=500 fence=7
			6 2.1 call obtain read=a ttl=600 fenced token=x
			7 2.1 return ok until=500 fence=7
			10 1.2 call upgrade write=a lock=1
			25 1.2 return ok until=500 fence=9
			30 2.2 call upgrade write=a lock=1
			35 2.2 return ok until=500 fence=7`},
		{name: "readers, of whom two have a token", text: `
			0 1.1 call obtain read=a ttl=600 fenced token=x
			5 1.1 return ok until=500 fence=7
			6 2.1 call obtain read=a ttl=600 fenced
			7 2.1 return ok until=500 fence=9
			10 3.1 call obtain read=a ttl=600 fenced token=x
			25 3.1 return ok until=500 fence=7`},
		{name: "a number that was raised", promise: check.Fencing, says: "had 100", text: `
			0 1.1 call obtain write=a ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			6 1.2 call raisefence lock=1 fence=100
			7 1.2 return ok fence=100
			8 1.3 call release lock=1
			9 1.3 return ok
			10 2.1 call obtain write=a ttl=600 fenced
			25 2.1 return ok until=500 fence=50`},
		{name: "a key that was freed before the number was raised", text: `
			0 1.1 call obtain write=a,b ttl=600 fenced
			5 1.1 return ok until=500 fence=7
			5 1.4 call releasekeys lock=1 write=b
			6 1.4 return ok
			6 1.2 call raisefence lock=1 fence=100
			7 1.2 return ok fence=100
			10 2.1 call obtain write=b ttl=600 fenced
			25 2.1 return ok until=500 fence=50`},
		{name: "terms", promise: check.Fencing, says: "lead 1 of process 2", text: `
			0 1.1 call lead write=a package=election until=500 fence=9
			100 1.1 return ok until=500 fence=9
			200 2.1 call lead write=a package=election until=600 fence=8
			300 2.1 return ok until=600 fence=8`},
		{name: "a term that begins when its lease is over", text: `
			0 1.1 call lead write=a package=election until=5000 fence=9
			4000 1.1 return ok until=5000 fence=9
			4050 2 stall for=4040
			4050 2.1 call lead write=a package=election until=600 fence=8
			4051 2.1 return ok until=600 fence=8`},
		{name: "a resource", text: `
			0 1.1 call enter write=r fence=7
			1 1.1 return ok
			2 2.1 call enter write=r fence=9
			3 1.2 call enter write=r fence=8
			4 1.2 return refused
			5 2.1 return ok
			6 2.2 call enter write=r fence=9
			7 2.2 return ok`},
		{name: "a resource that takes an old number", promise: check.Fencing, says: "took 7 of process 1", text: `
			0 2.1 call enter write=r fence=9
			1 2.1 return ok
			2 1.1 call enter write=r fence=7
			3 1.1 return ok`},
		{name: "a resource that refuses the newest number", promise: check.Fencing, says: "refused 9 of process 2", text: `
			0 1.1 call enter write=r fence=7
			1 1.1 return ok
			2 2.1 call enter write=r fence=9
			3 2.1 return refused`},
		{name: "two that came to a resource at once", text: `
			0 1.1 call enter write=r fence=9
			1 2.1 call enter write=r fence=7
			2 1.1 return ok
			3 2.1 return ok`},
	})
}
