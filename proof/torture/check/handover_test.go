package check_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// turn is one that stands in line for a key while another one holds it, which then releases it.
const turn = `
	0 1.1 call obtain write=a,b ttl=20000
	5 1.1 return ok until=19700
	100 2.1 call obtain write=b ttl=20000 way=queue wait=20000 local
	102 2.1 waiting
	1000 1.2 call release lock=1
	1005 1.2 return ok`

func TestHandover(t *testing.T) {
	const (
		served = `
			6001 2.1 return ok until=25700
			6500 2.2 call release lock=1
			6501 2.2 return ok`
		says = "nobody had \"b\" from 1.005s to 5.801s, and obtain 1 of process 2 stood in line for it since 102ms"
	)
	try(t, []sample{
		{name: "at once", text: turn + `
			1006 2.1 return ok until=20700`},
		{name: "when it asked by itself", promise: check.Handover, also: check.Prompt, says: says, text: turn + served},
		{name: "to somebody else first", text: turn + served + `
			110 3.1 call obtain write=b ttl=20000 way=queue wait=20000
			112 3.1 waiting
			1006 3.1 return ok until=20700
			5990 3.2 call release lock=1
			5995 3.2 return ok`},
		{name: "to one of several who were all told too late", promise: check.Handover, also: check.Prompt, says: "nobody had \"b\" from 1.005s to 5.801s", text: turn + served + `
			110 3.1 call obtain write=b ttl=20000 way=queue wait=20000
			112 3.1 waiting
			6502 3.1 return ok until=26700`},
		{name: "behind one that waits for another key, too", text: turn + served + `
			3 4.1 call obtain write=c ttl=20000
			5 4.1 return ok until=19000
			90 3.1 call obtain write=b,c ttl=20000 way=queue wait=20000
			92 3.1 waiting
			5000 4.2 call release lock=1
			5001 4.2 return ok
			5002 3.1 return ok until=25000
			5990 3.2 call release lock=1
			5995 3.2 return ok`},
		{name: "the next one was stopped, and had it", text: turn + `
			90 3.1 call obtain write=b ttl=20000 way=queue wait=20000
			92 3.1 waiting
			5900 3 stall for=5000
			5901 3.1 return ok until=19000
			5990 3.2 call release lock=1
			5995 3.2 return ok` + served},
		{name: "the next one was killed, and may have had it", text: `
			0 1.1 call obtain write=b ttl=20000
			5 1.1 return ok until=19700
			90 3.1 call obtain write=b ttl=4000 way=queue wait=20000
			92 3.1 waiting
			100 2.1 call obtain write=b ttl=20000 way=queue wait=20000 local
			102 2.1 waiting
			1000 1.2 call release lock=1
			1005 1.2 return ok
			1100 0 killed op=3` + served},
		{name: "one that was killed is taken for alive", promise: check.Handover, also: check.Prompt, says: "obtain 1 of process 2", text: `
			0 1.1 call obtain write=b ttl=20000
			5 1.1 return ok until=19700
			90 3.1 call obtain write=b ttl=400 way=queue wait=20000
			92 3.1 waiting
			100 2.1 call obtain write=b ttl=20000 way=queue wait=20000 local
			102 2.1 waiting
			300 0 killed op=3
			2000 1.2 call release lock=1
			2005 1.2 return ok` + served},
		{name: "one that was killed had not had it", promise: check.Handover, also: check.Prompt, says: says, text: turn + served + `
			90 3.1 call obtain write=b ttl=20000 way=queue wait=20000
			92 3.1 waiting
			300 0 killed op=3`},
		{name: "after the lease of a dead holder, when it asked by itself", promise: check.Prompt, text: `
			0 1.1 call obtain write=b ttl=1000
			5 1.1 return ok until=900
			50 0 killed op=1
			100 2.1 call obtain write=b ttl=20000 way=queue wait=20000 local
			102 2.1 waiting` + served},
		{name: "long after the lease of a dead holder", promise: check.Handover, also: check.Prompt, says: "obtain 1 of process 2", text: `
			0 1.1 call obtain write=b ttl=1000
			5 1.1 return ok until=900
			50 0 killed op=1
			100 2.1 call obtain write=b ttl=20000 way=queue wait=20000 local
			102 2.1 waiting
			9001 2.1 return ok until=25700`},
		{name: "a fault may have lost the message", text: `
			0 0 fault op=1 name=cut
			50 0 healed op=1 name=cut` + turn + served},
		{name: "a worker was stopped, which loses nothing of others", promise: check.Handover, also: check.Prompt, says: says, text: `
			0 0 fault op=1 name=worker-stop-short
			50 0 healed op=1 name=worker-stop-short` + turn + served},
	})
}
