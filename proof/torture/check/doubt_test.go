package check_test

import (
	"fmt"
	"testing"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// overtaken is a waiter, process 2, that another one passes, process 3: the lease of the waiter, when the other one came and when it
// had the lock, and what else there is in the history.
func overtaken(ttl, came, had int, beside string) string {
	return fmt.Sprintf(`
		0 1.1 call obtain write=a ttl=60000
		5 1.1 return ok until=59000
		100 2.1 call obtain write=a ttl=%d way=queue
		102 2.1 waiting
		%d 3.1 call obtain write=a ttl=60000 way=queue
		%[2]d 3.1 waiting
		%d 1.2 call release lock=1
		%[3]d 1.2 return ok
		%d 3.1 return ok until=%d
		%[4]d 3.2 call release lock=1
		%[4]d 3.2 return ok
		%[6]d 2.1 return ok until=%d
		%s`, ttl, came, had-1, had, had+50000, had+50, had+50+ttl-ttl/50, beside)
}

// TestOrderDoubts has waiters that were passed for certain, and beside each one that perhaps was not, by a millisecond.
func TestOrderDoubts(t *testing.T) {
	const long = 60000
	passed := func(name, text string) sample {
		return sample{name: name, text: text, promise: check.Order, says: "obtain 1 of process 2 had stood in line"}
	}
	try(t, []sample{
		{name: "both have it at the same moment", text: `
			0 1.1 call obtain write=a ttl=60000
			5 1.1 return ok until=59000
			100 2.1 call obtain read=a,b ttl=60000 way=queue
			102 2.1 waiting
			500 3.1 call obtain write=b ttl=100 way=queue
			502 3.1 waiting
			900 1.2 call release lock=1
			900 1.2 return ok
			900 3.1 return ok until=900
			900 2.1 return ok until=60000`},
		passed("the other one came later than it may have entered", overtaken(long, 303, 900, "")),
		{name: "the other one came when it may have entered", text: overtaken(long, 302, 900, "")},
		passed("it did not run before the other one came", overtaken(long, 400, 900, "390 2 stall for=48")),
		{name: "it did not run for half of what the other one was later", text: overtaken(long, 400, 900, "390 2 stall for=49")},

		// A lease of 300 ms is certain for 295 ms, and of 800 ms for 790 ms.
		passed("the other one had it before a short lease can have ended", overtaken(300, 310, 396, "")),
		{name: "the other one had it when a short lease may have ended", text: overtaken(300, 310, 397, "")},
		{name: "its lease may be over before it hears of it", text: overtaken(800, 310, 900, "")},
		passed("its lease is long enough to hear of it", overtaken(801, 310, 900, "")),
		passed("it ran for most of its lease", overtaken(2000, 500, 3000, "1500 2 stall for=499")),
		{name: "it did not run for a quarter of its lease", text: overtaken(2000, 500, 3000, "1500 2 stall for=500")},
		passed("it did not run, but its lease was longer than that", overtaken(10000, 500, 8000, "7000 2 stall for=4900")),
		passed("it ran when its lease may have been over", overtaken(2000, 500, 3000, "4000 2 stall for=900")),

		passed("it did not run for almost as long as the dead", overtaken(long, 500, 9000, "8000 2 stall for=4999")),
		{name: "it did not run for as long as the dead", text: overtaken(long, 500, 9000, "8000 2 stall for=5000")},

		{name: "it was broken", text: overtaken(long, 500, 900, "700 4.1 call break write=a\n701 4.1 return ok")},
		{name: "it was broken as it came", text: overtaken(long, 500, 900, "50 4.1 call break write=a\n100 4.1 return ok")},
		passed("another one was broken before it came", overtaken(long, 500, 900, "50 4.1 call break write=a\n99 4.1 return ok")),
		{name: "it may be that a break was late", text: overtaken(long, 500, 900, "50 4.1 call break write=a\n99 4.1 return unknown")},
		passed("another key was broken", overtaken(long, 500, 900, "700 4.1 call break write=b\n701 4.1 return ok")),
		passed("the other one was broken later", overtaken(long, 500, 900, "901 4.1 call break write=a\n902 4.1 return ok")),
	})
}

// TestAnswerDoubts is the same for answers.
func TestAnswerDoubts(t *testing.T) {
	wrong := func(name, text string) sample { return sample{name: name, text: text, promise: check.Answers} }
	right := func(name, text string) sample { return sample{name: name, text: text} }
	failed := func(fields, beside string) string {
		return "0 1.1 call obtain write=a ttl=6000 " + fields + "\n" + beside
	}
	samples := []sample{
		wrong("a reentrant lock without a number is refused", failed("package=reentrant owner=x", "5 1.1 return failed is=ErrUnsupported")),
		wrong("a reentrant lock fails for nothing", failed("package=reentrant owner=x fenced", "5 1.1 return failed error=ERR")),
		right("closed at the end", failed("", "5 1.1 return failed is=ErrClosed\n6 1 left")),
		wrong("closed, and it did not end", failed("", "5 1.1 return failed is=ErrClosed\n6 1 note")),
		wrong("closed, and it went on", failed("", "5 1.1 return failed is=ErrClosed\n6 1.2 call inspect write=a\n7 1.2 return ok\n8 1 left")),
		wrong("not closed, at the end", failed("", "5 1.1 return failed error=ERR\n6 1 left")),
	}
	for _, is := range []string{"Cause", "Canceled", "DeadlineExceeded", "ErrNotObtained", "ErrNotReplicated"} {
		samples = append(samples, right("failed with "+is, failed("", "5 1.1 return failed is="+is)))
	}
	for _, text := range []string{"i/o_Timeout", "it_timed_out", "context_is_over", "no_answer_yet", "not_answered_in_time"} {
		samples = append(samples, right("failed with "+text, failed("", "5 1.1 return failed error="+text)))
	}
	try(t, samples)
}

// until is the deadline of notHeld.
const until = 11900

// notHeld is a lock of 6 s whose refresh says that it is not held, at a moment.
func notHeld(fields string, at int, beside string) string {
	return fmt.Sprintf(`
		6000 1.1 call obtain write=a ttl=6000
		6005 1.1 return ok until=%d %s
		%d 1.9 call refresh lock=1 ttl=6000
		%d 1.9 return notheld is=ErrLockNotHeld
		%s`, until, fields, at-200, at, beside)
}

// TestNotHeldDoubts has locks that were held for certain, and others that may have been lost.
func TestNotHeldDoubts(t *testing.T) {
	wrong := func(name, text string) sample {
		return sample{name: name, text: text, promise: check.Answers, says: "says at"}
	}
	right := func(name, text string) sample { return sample{name: name, text: text} }
	const short = "500 1.1 call obtain write=a ttl=600\n505 1.1 return ok until=1089 watched\n"
	try(t, []sample{
		wrong("at its deadline, almost", notHeld("", until-1, "")),
		right("at its deadline", notHeld("", until, "")),
		wrong("more than 101 ms early, watched", notHeld("watched", until-102, "")),
		right("101 ms early, watched", notHeld("watched", until-101, "")),
		right("101 ms early, renewed", notHeld("renewed", until-101, "")),
		wrong("a lease of 600 ms, more than 31 ms early, watched", short+"990 1.9 call ttl lock=1\n1057 1.9 return notheld"),
		right("a lease of 600 ms, 31 ms early, watched", short+"990 1.9 call ttl lock=1\n1058 1.9 return notheld"),
		right("a longer lease, 101 ms early, watched", short+"900 1.2 call refresh lock=1 ttl=6000\n905 1.2 return ok until=6800\n"+
			"6690 1.9 call ttl lock=1\n6699 1.9 return notheld"),
		right("not held by a lock that nobody knows", "1 1.10 call refresh lock=77 ttl=600\n2 1.10 return notheld"),
		right("a fault meanwhile", notHeld("", 8000, "7000 0.1 fault name=cut\n7001 0.1 healed")),
		right("a fault five seconds before", notHeld("", 8000, "990 0.1 fault name=cut\n1000 0.1 healed")),
		wrong("a fault long before", notHeld("", 8000, "900 0.1 fault name=cut\n999 0.1 healed")),
		wrong("a fault thereafter", notHeld("", 8000, "8001 0.1 fault name=cut\n8002 0.1 healed")),
		right("broken meanwhile", notHeld("", 8000, "7000 4.1 call break write=a\n7001 4.1 return ok")),
		wrong("broken before", notHeld("", 8000, "5000 4.1 call break write=a\n5999 4.1 return ok")),
		wrong("another key is broken", notHeld("", 8000, "7000 4.1 call break write=b\n7001 4.1 return ok")),
		right("some keys are released meanwhile", notHeld("", 8000, "7900 1.3 call releasekeys write=a lock=1\n8100 1.3 return ok")),
		right("left meanwhile", notHeld("", 8000, "7900 1.3 call leave lock=1\n8100 1.3 return ok")),
		wrong("released thereafter", notHeld("", 8000, "8001 1.3 call release lock=1\n8100 1.3 return notheld")),
		wrong("looked at meanwhile", notHeld("", 8000, "7900 1.3 call ttl lock=1\n8100 1.3 return ok")),
		right("released as it has an answer", notHeld("", 8000, "8000 1.3 call release lock=1\n8100 1.3 return ok")),
		{name: "told for nothing that it is lost", text: notHeld("", 8000, "8000 1 lost lock=1 until=11900"), promise: check.Losses},
		wrong("renewed meanwhile", notHeld("renewed", 8000, "7900 1 renewal lock=1 until=11900")),
		wrong("two ask at the same time", notHeld("", 8000, "7900 1.3 call ttl lock=1\n8100 1.3 return notheld")),
		wrong("a release of what is held", "0 1.1 call obtain write=a ttl=6000\n5 1.1 return ok until=5900\n"+
			"100 1.2 call release lock=1\n105 1.2 return notheld"),
		wrong("another one is released meanwhile", notHeld("", 8000, "7900 1.3 call release lock=2\n8100 1.3 return ok")),
	})
}

// TestRefusalDoubts has refusals by nobody, and others by somebody who perhaps was there.
func TestRefusalDoubts(t *testing.T) {
	wrong := func(name, text string) sample {
		return sample{name: name, text: text, promise: check.Answers, says: "nobody can have held"}
	}
	right := func(name, text string) sample { return sample{name: name, text: text} }
	refused := func(ttl, took int, fields string) string {
		return fmt.Sprintf("900 2.1 call obtain write=a,b ttl=%d %s\n%d 2.1 return refused held=write", ttl, fields, 900+took)
	}
	const other = "\n0 1.1 call obtain write=b ttl=60000\n5 1.1 return ok until=59000"
	held := func(until int) string { // the key, until its release
		return fmt.Sprintf("\n0 1.1 call obtain write=a ttl=60000\n5 1.1 return ok until=59000\n%d 1.2 call release lock=1\n%d 1.2 return ok", until-1, until)
	}
	waiter := func(way string) string { // it wants to read, and waits from 100 to 9000
		return "\n100 2.1 call obtain read=a ttl=6000 way=" + way + " wait=8900\n102 2.1 waiting\n" +
			"9000 2.1 return refused held=write is=ErrWaitOver,ErrNotObtained"
	}
	try(t, []sample{
		wrong("within half of a lease", refused(1000, 499, "")),
		right("after half of a lease", refused(1000, 500, "")),
		wrong("with a short lease", refused(600, 5, "")),
		right("by what is no lock", refused(6000, 5, "")+" held=foreign"),
		right("by a server that has restarted", refused(6000, 5, "")+" held=restarted"),
		right("by keys of the owner", refused(6000, 5, "package=reentrant owner=x")),
		right("by no quorum", refused(6000, 5, "package=quorum")),
		right("a conversion", "0 1.1 call obtain read=a ttl=60000\n5 1.1 return ok until=59000\n"+
			"7 1.2 call upgrade lock=1\n8 1.2 return refused held=read until=59000"),
		right("a writer by a reader", refused(6000, 5, "")+"\n0 1.1 call obtain read=a ttl=60000\n5 1.1 return ok until=59000"),
		right("by another key of the set", refused(6000, 5, "")+other),
		wrong("by another key of the set, and it says by this one", refused(6000, 5, "")+" inway=a"+other),
		right("by the key that it names", refused(6000, 5, "")+" inway=b"+other),

		right("a fault five seconds before", refused(6000, 5, "")+"\n-4200 0.1 fault name=cut\n-4100 0.1 healed"),
		wrong("a fault long before", refused(6000, 5, "")+"\n-4200 0.1 fault name=cut\n-4101 0.1 healed"),
		wrong("a fault thereafter", refused(6000, 5, "")+"\n906 0.1 fault name=cut\n907 0.1 healed"),

		// A reader in line asks after 5 s at the latest, and may be 400 ms late.
		right("a waiter that has not asked again", held(3600)+waiter("queue")),
		wrong("a waiter that has", held(3599)+waiter("queue")),
		wrong("a waiter that has come later", held(99)+"\n100 2.1 call obtain read=a ttl=6000 way=queue\n102 2.1 waiting\n5000 2.1 return refused held=write"),
		right("a waiter by another key than it names", other+"\n100 2.1 call obtain read=a,b ttl=6000 way=queue\n"+
			"102 2.1 waiting\n5000 2.1 return refused held=write inway=a"),
		right("one that polls, and asks when it likes", held(3599)+waiter("poll")),
		wrong("a waiter with a lease that it hears of", held(50)+"\n100 2.1 call obtain write=a ttl=801 way=queue\n102 2.1 waiting\n7000 2.1 return refused held=write"),
		right("a waiter with a lease that it may not hear of", held(50)+"\n100 2.1 call obtain write=a ttl=800 way=queue\n102 2.1 waiting\n7000 2.1 return refused held=write"),
		right("a waiter that did not run", held(50)+waiter("queue")+"\n500 2 stall for=1"),
		wrong("one that did not run before", held(50)+waiter("queue")+"\n99 2 stall for=90"),
	})
}
