package late

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An op is what a caller asks for.
type op int8

const (
	obtain  op = iota + 1
	queue      // an Obtain that stands in line if it has to wait
	refresh    // to a lease that may be shorter
	renew      // a renewal, or a Refresh that cannot shorten
	downgrade
	upgrade
	release
	cleanup // the Release of what an Obtain or a Release has left behind
)

func (o op) String() string {
	return [...]string{"", "obtain", "queue", "refresh", "renew", "downgrade", "upgrade", "release", "clean-up"}[o]
}

// obtains reports whether it is an Obtain.
func (o op) obtains() bool { return o == obtain || o == queue }

// frees reports whether it is a Release.
func (o op) frees() bool { return o == release || o == cleanup }

// A request is one try of a call, as it travels to the server.
type request struct {
	op    op
	hold  int8
	keys  set
	read  set // of the keys of an Obtain: those that it wants to read
	lease int8

	id     int8   // of its owner
	number int8   // 0: it is not stamped, and asks for no guard
	home   int8   // the line where it asks; -1: it is not stamped
	closes set    // the lines where it sets the guard to its number
	former former // the lines where it sets guards of ids before to the greatest number

	spare set  // keys that a Release leaves alone
	keep  bool // what the token holds is lessened neither in time nor in mode
	leave bool // a clean-up of an Obtain that takes its waiter out of the lines of the keys
	taken bool // a Release that leaves its keys taken, by nobody

	age int8 // in ticks
}

// A former is lines, for each of the ids that an owner may have had before.
type former [ids - 1]set

func (r request) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s{%s} of hold %d", r.op, r.keys, r.hold)
	if r.read != 0 {
		fmt.Fprintf(&s, ", reading %s", r.read)
	}
	if r.lease > 0 {
		fmt.Fprintf(&s, ", lease %d", r.lease)
	}
	switch {
	case r.number == 0:
		s.WriteString(", not stamped")
	case r.id > 0:
		fmt.Fprintf(&s, ", number %d of id %d", r.number, r.id)
	default:
		fmt.Fprintf(&s, ", number %d", r.number)
	}
	if r.closes != 0 {
		fmt.Fprintf(&s, ", closes %s", r.closes)
	}
	for id, lines := range r.former {
		if lines != 0 {
			fmt.Fprintf(&s, ", closes id %d in %s", id, lines)
		}
	}
	if r.spare != 0 {
		fmt.Fprintf(&s, ", spares %s", r.spare)
	}
	if r.keep {
		s.WriteString(", takes nothing away")
	}
	if r.taken {
		s.WriteString(", leaves them taken")
	}
	return s.String()
}

// takes is what a request leaves a hold of the same keys, at most.
func (r request) takes(i int) (limit lease) {
	limit = most
	if !r.keys.has(i) {
		return limit
	}
	switch {
	case r.op.frees() && !r.spare.has(i):
		return lease{}
	case r.op.obtains() && r.read.has(i) && !r.keep, r.op == downgrade:
		limit.mode = reads
	}
	if r.op == refresh || r.op == downgrade || r.op == upgrade {
		if !r.keep {
			limit.left = r.lease
		}
	}
	return limit
}

// harms reports whether a request may free keys, shorten leases or change modes.
func (r request) harms() bool {
	for i := range keys {
		if r.takes(i) != most {
			return true
		}
	}
	return false
}

// isClosing reports whether a request sets guards.
func (r request) isClosing() bool { return r.closes != 0 || r.former != former{} }

// entry is how a request stands among the open ones.
func (r request) entry(m *model) entry {
	return entry{keys: r.keys, home: m.homeOf(r), id: r.id, number: r.number}
}

// compare puts requests into some order.
func (r request) compare(other request) int {
	x, y := r.code(), other.code()
	return cmp.Or(slices.Compare(x[:], y[:]), slices.Compare(r.former[:], other.former[:]))
}

func (r request) code() [14]int8 {
	return [...]int8{
		-int8(r.op), r.hold, int8(r.keys), int8(r.read), r.lease, r.id, r.number, r.home,
		int8(r.closes), int8(r.spare), number(r.keep), number(r.leave), number(r.taken), r.age,
	}
}

func number(yes bool) int8 {
	if yes {
		return 1
	}
	return 0
}
