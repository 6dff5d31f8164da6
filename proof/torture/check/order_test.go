package check_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// line is two that stand in line while a third holds the key: process 1 holds a, process 2 came first, process 3 later.
const line = `
	0 1.1 call obtain write=a ttl=60000
	5 1.1 return ok until=59000
	100 2.1 call obtain write=a,b ttl=60000 way=queue wait=9000
	102 2.1 waiting
	500 3.1 call obtain read=a ttl=60000 way=queue wait=9000
	502 3.1 waiting
	1000 1.2 call release lock=1
`

func TestOrder(t *testing.T) {
	try(t, []sample{
		{name: "in order", text: line + `
			1001 2.1 return ok until=60000
			1002 1.2 return ok
			1100 2.2 call release lock=1
			1101 2.2 return ok
			1102 3.1 return ok until=60100`},
		{name: "the answer to the first one took longer", text: line + `
			1001 1.2 return ok
			1002 3.1 return ok until=60000
			1003 2.1 return refused held=write inway=a is=ErrWaitOver`},
		{name: "the wrong one", promise: check.Order, says: "obtain 1 of process 2 had stood in line for it since 102ms", text: line + `
			1001 3.1 return ok until=60000
			1002 1.2 return ok
			1100 3.2 call release lock=1
			1101 3.2 return ok
			1102 2.1 return ok until=60100`},
		{name: "one that does not queue passes", promise: check.Order, says: "obtain 2 of process 4", text: line + `
			1001 1.2 return ok
			1003 4.2 call obtain write=b ttl=60000 way=once
			1004 4.2 return ok until=60000
			1005 4.3 call release lock=2
			1006 4.3 return ok
			1102 2.1 return ok until=60100
			1110 2.2 call release lock=1
			1111 2.2 return ok
			1112 3.1 return ok until=60100`},
		{name: "it came when the first one had hardly begun to wait", text: `
			0 1.1 call obtain write=a ttl=60000
			5 1.1 return ok until=59000
			100 2.1 call obtain write=a ttl=60000 way=queue
			102 2.1 waiting
			150 3.1 call obtain write=a ttl=60000 way=queue
			152 3.1 waiting
			500 1.2 call release lock=1
			501 3.1 return ok until=60000
			502 1.2 return ok
			600 3.2 call release lock=1
			601 3.2 return ok
			602 2.1 return ok until=60100`},
		{name: "readers pass readers", text: `
			0 1.1 call obtain write=a,b ttl=60000
			5 1.1 return ok until=59000
			100 2.1 call obtain read=a,b ttl=60000 way=queue
			102 2.1 waiting
			500 3.1 call obtain read=a ttl=60000 way=queue
			502 3.1 waiting
			600 1.2 call releasekeys write=a lock=1
			601 3.1 return ok until=60000
			602 1.2 return ok
			700 1.3 call release lock=1
			701 1.3 return ok
			702 2.1 return ok until=60100`},
		{name: "the first one was killed", text: line + `
			1000 0 killed op=2
			1001 3.1 return ok until=60000
			1002 1.2 return ok`},
		{name: "the first one was killed much later", promise: check.Order, says: "obtain 1 of process 3", text: line + `
			1001 3.1 return ok until=60000
			1002 1.2 return ok
			1010 2 note
			5000 0 killed op=2
			5100 3 note`},
		{name: "the first one did not run", text: line + `
			1001 3.1 return ok until=60000
			1002 1.2 return ok
			1010 3.2 call release lock=1
			1011 3.2 return ok
			9000 2 stall for=8700
			9010 2.1 return ok until=69000`},
		{name: "the first one may have had it, and lost it", text: `
			0 1.1 call obtain write=a ttl=300
			5 1.1 return ok until=295
			10 1.9 call release lock=1
			11 1.9 return ok
			100 2.1 call obtain write=a ttl=300 way=queue
			102 2.1 waiting
			500 3.1 call obtain write=a ttl=300 way=queue
			502 3.1 waiting
			600 3.1 return ok until=850
			860 2.1 return ok until=1100`},
		{name: "the first one was broken", text: `
			0 1.1 call obtain write=a ttl=60000
			5 1.1 return ok until=59000
			100 2.1 call obtain write=a ttl=60000 way=queue
			102 2.1 waiting
			500 3.1 call obtain write=a ttl=60000 way=queue
			502 3.1 waiting
			600 1.2 call release lock=1
			601 4.1 call break write=a
			602 4.1 return ok
			603 3.1 return ok until=60000
			604 1.2 return ok
			605 3.2 call release lock=1
			606 3.2 return ok
			607 2.1 return ok until=60000`},
		{name: "the first one entered the line late, because it did not run", text: `
			0 1.1 call obtain write=a ttl=60000
			5 1.1 return ok until=59000
			100 2.1 call obtain write=a ttl=60000 way=queue
			102 2.1 waiting
			400 2 stall for=290
			390 3.1 call obtain write=a ttl=60000 way=queue
			395 3.1 waiting
			600 1.2 call release lock=1
			601 3.1 return ok until=60000
			602 1.2 return ok
			605 3.2 call release lock=1
			606 3.2 return ok
			607 2.1 return ok until=60000`},
		{name: "parts of a lock at several places", text: `
			0 1.1 call obtain write=a ttl=60000 package=multi
			5 1.1 return ok until=59000
			100 2.1 call obtain write=a,b ttl=60000 way=queue package=multi
			102 2.1 waiting
			500 3.1 call obtain write=b ttl=60000 package=multi
			502 3.1 return ok until=60000
			510 3.2 call release lock=1
			511 3.2 return ok
			600 1.2 call release lock=1
			601 1.2 return ok
			607 2.1 return ok until=60000`},
		{name: "it has a token of its own", text: `
			0 1.1 call obtain write=a ttl=60000 token=x
			5 1.1 return ok until=59000
			100 2.1 call obtain write=a ttl=60000 way=queue
			102 2.1 waiting
			500 3.1 call obtain write=a ttl=60000 token=x
			502 3.1 return ok until=60000
			510 3.2 call release lock=1
			511 3.2 return ok
			520 2.1 return ok until=60000`},
	})
}
