package check_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

func TestLosses(t *testing.T) {
	try(t, []sample{
		{name: "told in time", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			560 1 lost lock=1 until=590`},
		{name: "told a little late", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			700 1 lost lock=1 until=590`},
		{name: "told too late", promise: check.Losses, says: "500ms after its deadline", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			1090 1 lost lock=1 until=590`},
		{name: "told when it ran again", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			1400 1 stall for=1300
			1410 1 lost lock=1 until=590`},
		{name: "stopped long before, and told too late", promise: check.Losses, says: "after its deadline", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			300 1 stall for=200
			1410 1 lost lock=1 until=590`},
		{name: "two stops in a row", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			700 1 stall for=150
			1000 1 stall for=250
			1100 1 lost lock=1 until=590`},
		{name: "not told at all", promise: check.Losses, says: "was not told", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			2000 1 note
			3000 2 note`},
		{name: "not told, but nobody knows that it ran", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			3000 2 note`},
		{name: "not watched", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590
			2000 1 note
			3000 2 note`},
		{name: "killed before the deadline", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			400 0 killed op=1
			3000 2 note`},
		{name: "stopped until it was killed", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			1390 1 note
			1400 0 killed op=1
			3000 2 note`},
		{name: "stopped at the deadline, and killed soon after that", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			1000 1 stall for=500
			1010 1 note
			1400 0 killed op=1
			3000 2 note`},
		{name: "released before", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			400 1.2 call release lock=1
			410 1.2 return ok
			2000 1 note
			3000 2 note`},
		{name: "refreshed, and not told", promise: check.Losses, says: "was not told", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			400 1.2 call refresh lock=1 ttl=600
			410 1.2 return ok until=990
			2000 1 note
			3000 2 note`},
		{name: "a refresh whose answer may come later", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched
			400 1.2 call refresh lock=1 ttl=60000
			410 1.2 return unknown until=590
			2000 1 note
			3000 2 note`},
		{name: "renewals that ended", promise: check.Losses, says: "was not told", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched renewed
			200 1 renewal lock=1 until=790
			2000 1 note
			3000 2 note`},
		{name: "renewals that nobody writes down", text: `
			0 1.1 call obtain write=a ttl=600
			5 1.1 return ok until=590 watched renewed
			2000 1 note
			3000 2 note`},
		{name: "a loss for nothing", promise: check.Losses, says: "although nothing had ended it", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900 watched
			560 1 lost lock=1 until=5900
			600 1.2 call obtain write=b
			601 1.2 return failed is=Cause`},
		{name: "a loss by a break", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900 watched
			500 2.1 call break write=a
			510 2.1 return ok
			560 1 lost lock=1 until=5900`},
		{name: "a loss by a fault", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900 watched
			500 0.1 fault name=flush
			510 0.1 healed
			560 1 lost lock=1 until=5900`},
		{name: "a loss at the end of the process", text: `
			0 1.1 call obtain write=a ttl=6000
			5 1.1 return ok until=5900 watched
			560 1 lost lock=1 until=5900
			561 1 left`},
		{name: "a term that was too long", promise: check.Losses, says: "led until", text: `
			0 1.1 call lead write=a package=election until=500
			1000 1.1 return ok until=500`},
		{name: "a leader that was told in time, but did something that could not be interrupted", text: `
			0 1.1 call lead write=a package=election until=500
			495 1 lost lock=1 until=500
			1000 1.1 return notheld`},
		{name: "a leader that was told too late", promise: check.Losses, says: "led until", text: `
			0 1.1 call lead write=a package=election until=500
			900 1 lost lock=1 until=500
			1000 1.1 return notheld`},
	})
}

func TestProgress(t *testing.T) {
	try(t, []sample{
		{name: "answered in time", text: `
			0 1.1 call obtain write=a way=queue wait=20000
			1000 0 settled
			5000 1.1 return ok until=9000
			30000 2 note`},
		{name: "the faults were over late", text: `
			0 1.1 call obtain write=a way=queue
			10000 0 settled
			12000 1.1 return ok until=19000
			30000 2 note`},
		{name: "never answered", promise: check.Progress, says: "has no answer at all", text: `
			0 1.1 call obtain write=a way=queue wait=2000
			1000 0 settled
			30000 2 note`},
		{name: "answered too late", promise: check.Progress, says: "was answered after 8s", text: `
			0 1.1 call obtain write=a way=queue
			1000 0 settled
			9000 1.1 return ok until=9500
			30000 2 note`},
		{name: "it wanted to wait for so long", text: `
			0 1.1 call obtain write=a way=queue wait=9000
			1000 0 settled
			9050 1.1 return refused is=ErrNotObtained,ErrWaitOver held=queue
			30000 2 note`},
		{name: "killed", text: `
			0 1.1 call obtain write=a way=queue
			1000 0 settled
			2000 0 killed op=1
			30000 2 note`},
		{name: "killed when it should have been answered", promise: check.Progress, says: "has no answer", text: `
			0 1.1 call obtain write=a way=queue
			1000 0 settled
			20000 0 killed op=1
			30000 2 note`},
		{name: "the history is over before", text: `
			0 1.1 call obtain write=a way=queue
			1000 0 settled
			2000 2 note`},
		{name: "called later", promise: check.Progress, says: "called at 2s", text: `
			1000 0 settled
			2000 1.1 call refresh lock=9 ttl=9
			9000 2 note`},
		{name: "a process that did not run", text: `
			1000 0 settled
			2000 1.1 call refresh lock=9 ttl=9
			6800 1 stall for=4000
			9000 1.1 return notheld
			9001 2 note`},
		{name: "a term has no end", text: `
			0 1.1 call lead write=a package=election
			1000 0 settled
			30000 2 note`},
		{name: "nobody has said that the faults are over", text: `
			0 1.1 call obtain write=a way=queue
			30000 2 note`},
	})
}
