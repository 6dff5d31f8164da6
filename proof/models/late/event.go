package late

import "fmt"

// A kind is what happens in one step of a search.
type kind int8

const (
	begins kind = iota + 1
	sends
	executes
	arrives
	answers
	dies
	givesUp
	receives
	misses
	asksAgain
	leaves
	otherReleases
	otherReads
	otherWaits
	otherLooks
	timePasses
	timeIsOver
	forgets
)

// An event is such a step, with what there is to say about it.
type event struct {
	kind    kind
	who     int8
	request request
	reply   reply
	extent  extent
}

func (e event) String() string {
	switch e.kind {
	case begins, sends:
		return fmt.Sprintf("caller %d sends %s", e.who, e.request)
	case executes, arrives:
		how := "it is executed"
		if e.kind == arrives {
			how = "late"
		}
		if e.extent != whole {
			how += ", and " + e.extent.String()
		}
		return fmt.Sprintf("%s: %s: %s", how, e.request, e.reply)
	case answers:
		return fmt.Sprintf("caller %d is answered: %s", e.who, e.reply)
	case dies:
		return fmt.Sprintf("caller %d has no answer, and will try again", e.who)
	case givesUp:
		return fmt.Sprintf("caller %d has no answer, and goes", e.who)
	}
	return map[kind]string{
		receives: "the waiter receives the message that it was granted", misses: "the message of the grant is lost",
		asksAgain: "the waiter is to ask again", leaves: "the waiter gives up",
		otherReleases: "the other token releases", otherReads: "another token reads",
		otherWaits: "another token stands in line", otherLooks: "another token looks through the lines",
		timePasses: "time passes", timeIsOver: "the time of a key that was left is over", forgets: "the owner takes a fresh id",
	}[e.kind]
}
