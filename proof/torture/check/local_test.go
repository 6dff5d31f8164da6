package check_test

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// pass is a hold of process 1, which three of its obtains want, one after the other, and which process 2 stands in line for.
const pass = `
	0 1.1 call obtain write=a ttl=60000 way=queue passon=1000 local
	5 1.1 return ok until=60000
	10 2.1 call obtain write=a ttl=60000 way=queue wait=20000 local
	12 2.1 waiting
	600 1.2 call obtain write=a ttl=60000 way=queue wait=20000 passon=1000 local
	601 1.2 waiting
	750 1.3 call obtain write=a ttl=60000 way=queue wait=20000 passon=1000 local
	751 1.3 waiting
	800 1.4 call release lock=1
`

func TestPassedOn(t *testing.T) {
	const (
		inTime = pass + `
			800 1.2 return ok until=60000 came=passed
			801 1.4 return ok
			900 1.5 call release lock=2
			900 1.3 return ok until=60000 came=passed
			901 1.5 return ok
			1100 1.6 call release lock=3
			1101 2.1 return ok until=61000
			1102 1.6 return ok`
		tooLate = pass + `
			800 1.2 return ok until=60000 came=passed
			801 1.4 return ok
			1006 1.5 call release lock=2
			1006 1.3 return ok until=60000 came=passed
			1007 1.5 return ok
			1100 1.6 call release lock=3
			1101 2.1 return ok until=61000
			1102 1.6 return ok`
		toTheSecond = pass + `
			800 1.3 return ok until=60000 came=passed
			801 1.4 return ok
			900 1.5 call release lock=3
			900 1.2 return ok until=60000 came=passed
			901 1.5 return ok
			1100 1.6 call release lock=2
			1101 2.1 return ok until=61000
			1102 1.6 return ok`
	)
	const third = "750 1.3 call obtain write=a ttl=60000 way=queue wait=20000 passon=1000"
	with := func(text string, what ...string) string { return strings.NewReplacer(what...).Replace(text) }
	alone := with(inTime, "10 2.1 call obtain write=a", "10 2.1 call obtain write=b", "1101 2.1", "20 2.1", "12 2.1 waiting", "")
	try(t, []sample{
		{name: "in time", text: inTime},
		{name: "in time, and nobody else waits", text: alone},
		{name: "nobody has asked for that", promise: check.Order, text: with(inTime, "passon=1000", "")},
		{
			name: "one has not asked for that", promise: check.Order, says: "it did not ask for that",
			text: with(alone, third, "750 1.3 call obtain write=a ttl=60000 way=queue wait=20000"),
		},
		{
			name: "one has asked for something else", promise: check.Order, says: "has asked for something else",
			text: with(alone, third, "750 1.3 call obtain write=a ttl=70000 way=queue wait=20000 passon=1000"),
		},
		{name: "when its time was over", promise: check.Order, text: tooLate},
		{
			name: "less than half of it was left", promise: check.Order, says: "29.2s of 1m0s was left",
			text: with(alone, "800 1.2 return ok until=60000", "800 1.2 return ok until=30000"),
		},
		{name: "the next one was skipped", promise: check.Order, says: "obtain 2 of process 1 had stood in line for it", text: toTheSecond},
		{
			name: "to nobody of its own", promise: check.Order, says: "no other lock of its process",
			text: with(alone, "0 1.1 call", "0 3.1 call", "5 1.1 return", "5 3.1 return", "800 1.4 call release", "800 3.2 call release", "801 1.4", "801 3.2"),
		},
		{
			name: "a Release has carried past somebody older", promise: check.Order, says: "obtain 1 of process 2 had stood in line for it",
			text: with(inTime, "came=passed", "came=carried"),
		},
	})
}

// In the line of a process it is certain sooner who came first.
func TestBehindOneAnother(t *testing.T) {
	const text = `
		0 1.1 call obtain write=a ttl=60000 way=queue local
		5 1.1 return ok until=60000
		10 2.1 call obtain write=a ttl=60000 way=queue wait=20000 local
		12 2.1 waiting
		160 2.2 call obtain write=a ttl=60000 way=queue wait=20000 local
		161 2.2 waiting
		300 1.2 call release lock=1
		301 1.2 return ok
		302 2.2 return ok until=60000
		310 2.3 call release lock=2
		311 2.3 return ok
		312 2.1 return ok until=60000`
	try(t, []sample{
		{name: "of one process", promise: check.Order, says: "obtain 1 of process 2 had stood in line for it", text: text},
		{name: "fenced and not", text: strings.Replace(text, "wait=20000 local", "wait=20000 local fenced", 1)},
		{name: "of two", text: strings.NewReplacer(" 2.2 ", " 3.1 ", " 2.3 ", " 3.2 ", "lock=2", "lock=1").Replace(text)},
		{name: "its process did not run for a moment", text: text + "\n 15 2 stall for=80"},
		{name: "requests were slow for a while", text: "120 0.1 fault name=slow-disk\n 300 0.1 healed name=slow-disk" + text},
		{name: "the clock was set back", text: "0 0.1 fault name=clock-back" + text},
		{name: "the clock was set back, and ran on", text: "-300 0.1 fault name=clock-back\n -280 0.1 healed name=clock-back" + text},
		{
			name: "the clock was set back long ago", promise: check.Order, says: "obtain 1 of process 2 had stood in line for it",
			text: "-800 0.1 fault name=clock-back\n -700 0.1 healed name=clock-back" + text,
		},
	})
}
