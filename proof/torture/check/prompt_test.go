package check_test

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

func TestPrompt(t *testing.T) {
	const says = "within 105ms, but obtain 1 of process 2 for [\"b\"] and [] had it at 1.406s, and nobody was in its way from 1.005s on, when obtain 1 of process 1 was over"
	const late = `
			1406 2.1 return ok until=21000`
	// The holder, and then the first in line, die; the lease is over at 1075 at the latest.
	const dead = `
			0 1.1 call obtain write=b ttl=1000
			5 1.1 return ok until=900
			50 0 killed op=1
			100 2.1 call obtain write=b ttl=20000 way=queue wait=20000
			102 2.1 waiting`
	try(t, []sample{
		{name: "at once", text: turn + `
			1100 2.1 return ok until=20700`},
		{name: "late", promise: check.Prompt, says: says, text: turn + late},
		{name: "its Client asks the server itself, once more", text: strings.Replace(turn, " local", "", 1) + `
			1200 2.1 return ok until=20700`},
		{name: "the Release took long, so the servers are slow", text: strings.Replace(turn, "1005 1.2", "1150 1.2", 1) + `
			1390 2.1 return ok until=20700`},
		{name: "a worker did not run meanwhile", text: turn + late + `
			1390 2 stall for=310`},
		{name: "the probe of the campaign did not run meanwhile", text: turn + late + `
			1390 0 stall for=310`},
		{name: "a worker had not run before", promise: check.Prompt, says: says, text: turn + late + `
			900 2 stall for=310`},
		{name: "somebody else had a key of it", text: turn + `
			110 3.1 call obtain write=b ttl=20000
			1200 3.1 return ok until=20000
			1300 3.2 call release lock=1
			1310 3.2 return ok` + late},
		{name: "somebody before it gave up", text: turn + `
			90 3.1 call obtain write=b,c ttl=20000 way=queue wait=1300
			92 3.1 waiting
			1390 3.1 return refused held=queue inway=c is=ErrNotObtained
			3 4.1 call obtain write=c ttl=20000
			5 4.1 return ok until=19000` + late},
		{name: "somebody behind it still waits", promise: check.Prompt, says: says, text: turn + late + `
			300 3.1 call obtain write=b ttl=20000 way=queue wait=20000
			302 3.1 waiting
			5000 2.2 call release lock=1
			5001 2.2 return ok
			5002 3.1 return ok until=25000`},
		{name: "a reader, with a reader beside it", promise: check.Prompt, says: "obtain 1 of process 2 for [] and [\"b\"]", text: `
			0 1.1 call obtain write=b ttl=20000
			5 1.1 return ok until=19700
			100 2.1 call obtain read=b ttl=20000 way=queue wait=20000
			102 2.1 waiting
			110 3.1 call obtain read=b ttl=20000 way=queue wait=20000
			112 3.1 waiting
			1000 1.2 call release lock=1
			1005 1.2 return ok
			1010 3.1 return ok until=20000
			1350 3.2 call release lock=1
			1355 3.2 return ok` + late},
		{name: "after the lease of a dead holder", text: dead + `
			1150 2.1 return ok until=20700`},
		{name: "late after the lease of a dead holder", promise: check.Prompt, says: "nobody was in its way from 1.075s on", text: dead + late},
		{name: "the first in line has died, too, and may have had the lock", text: dead + `
			90 3.1 call obtain write=b ttl=4000 way=queue wait=20000
			92 3.1 waiting
			120 0 killed op=3
			5300 2.1 return ok until=20000`},
		{name: "long after the first in line has died, too", promise: check.Prompt, says: "when obtain 1 of process 3 was over", text: dead + `
			90 3.1 call obtain write=b ttl=4000 way=queue wait=20000
			92 3.1 waiting
			120 0 killed op=3
			5600 2.1 return ok until=20000`},
		{name: "a fault may have lost the message", text: turn + late + `
			1000 0 fault op=1 name=cut
			1100 0 healed op=1 name=cut`},
		{name: "it polls", text: `
			0 1.1 call obtain write=b ttl=20000
			5 1.1 return ok until=19700
			100 2.1 call obtain write=b ttl=20000 way=poll wait=20000
			102 2.1 waiting
			1000 1.2 call release lock=1
			1005 1.2 return ok` + late},
	})
}
