package watch

import (
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// A level says how bad it is.
type level int

const (
	fine  level = iota
	slow        // worth a look
	stuck       // somebody waits, and nothing happens
)

func (l level) String() string { return [...]string{"", "slow", "stuck"}[l] }

// A row is what is shown of one key, as it was at its latest sample.
type row struct {
	track
	holder   string        // who holds it, fit to be shown
	together time.Duration // for which these holders have been seen
	held     time.Duration
	exactly  bool          // held is known; else it is at least that
	waiting  int           // in line, and alive
	gone     int           // in line, and not
	longest  time.Duration // for which one of the living waits
	rate     float64       // hand-offs a second, at least
	hasRate  bool
	level    level
	why      string // what there is to say of it
}

// rows returns what is to be shown of every key, in no order.
func (t *table) rows() []row {
	list := make([]row, 0, len(t.tracks))
	for _, k := range t.tracks {
		list = append(list, k.row())
	}
	return list
}

func (k *track) row() row {
	r := row{track: *k}
	if !k.known() {
		return r
	}
	r.gone = cli.Gone(k.KeyState)
	r.waiting = len(k.Line) - r.gone
	for _, w := range k.Line {
		if w.Alive {
			r.longest = max(r.longest, k.server.Sub(w.Since))
		}
	}
	if len(k.Holders) > 0 {
		r.together = k.at.Sub(k.since)
		r.held, r.exactly = k.heldFor()
		r.holder = holderText(k.KeyState)
	}
	r.rate, r.hasRate = k.handOffs()
	r.level, r.why = r.judge()
	return r
}

// heldFor returns for how long the key has been held by the present holder, of several the first. What the holder says of that
// counts, unless it is less than what was seen.
func (k *track) heldFor() (held time.Duration, exactly bool) {
	held = k.at.Sub(k.since)
	for _, h := range k.Holders {
		if !h.Since.IsZero() && k.server.Sub(h.Since) >= held {
			held, exactly = k.server.Sub(h.Since), true
		}
	}
	return max(held, 0), exactly
}

// holderText names the holder, or the first of several.
func holderText(s redislock.KeyState) string {
	text := who(s.Holders[0].Metadata, s.Holders[0].Caller)
	if s.Holders[0].Left {
		text += ", left"
	}
	if more := len(s.Holders) - 1; more > 0 {
		text = fmt.Sprintf("%s +%d more", text, more)
	}
	return text
}

// mostText is how much of a metadata is shown at most.
const mostText = 400

func who(metadata, caller string) string { return cli.Somebody(metadata, caller, mostText) }

// What is too long.
const (
	manyLeases = 3                // the first waits for longer than so many leases
	shortWait  = 10 * time.Second // and for longer than this
	longHeld   = 30 * time.Second // the line has grown for this long
	grownBy    = 3                // by so many
	longLease  = time.Hour        // of somebody for whom others wait
)

// judge says how bad it is, and why.
func (r row) judge() (level, string) {
	first := "a writer waits with an intent"
	if r.waiting > 0 {
		first = fmt.Sprintf("%s, the first for %s", count.Of(r.waiting, "waiter"), cli.Duration(r.longest))
	}
	leases := ""
	tooLong := r.longest > shortWait && r.lease > 0 && r.longest > manyLeases*r.lease
	if tooLong {
		leases = fmt.Sprintf(", %d leases", r.longest/r.lease)
	}
	waits := r.waiting > 0 || r.Intent != nil
	circle := r.circle
	if !waits {
		circle = nil
	}
	grown := r.waiting - r.line // since the holder was first seen
	switch {
	case r.Mode == redislock.ModeForeign:
		text := cli.Mode(r.KeyState)
		if waits {
			return stuck, text + "; " + first
		}
		return slow, text
	case circle != nil && circle.Certain:
		return stuck, "certain deadlock: " + circle.Text
	case tooLong && (r.together >= shortWait || r.exactly && r.held >= r.longest):
		return stuck, fmt.Sprintf("held for %s by the same; %s%s", r.heldText(), first, leases)
	case tooLong:
		return slow, first + leases
	case circle != nil:
		return slow, "possible deadlock: " + circle.Text
	case r.waiting == 0 && r.gone > 0:
		return slow, fmt.Sprintf("nobody of %s is alive", count.Of(r.gone, "waiter"))
	case len(r.Holders) > 0 && r.together >= longHeld && grown >= grownBy:
		return slow, fmt.Sprintf("held for %s by the same, and %d more wait than before; %s", r.heldText(), grown, first)
	case waits && r.TTL > longLease:
		return slow, fmt.Sprintf("the lease goes on for %s; %s", cli.Duration(r.TTL), first)
	}
	return fine, r.remark(first)
}

// remark is what there is to say if all is well.
func (r row) remark(first string) string {
	switch {
	case r.waiting > 0 && r.Mode == redislock.ModeFree:
		return "free, but wanted together with other keys, or just handed on; " + first
	case r.gone > 0:
		return fmt.Sprintf("%s; %d more are gone", first, r.gone)
	case r.waiting > 0:
		return first
	case r.Intent != nil:
		return "a writer waits and keeps new readers out: " + who(r.Intent.Metadata, r.Intent.Caller)
	}
	return ""
}

// heldText is for how long the key has been held; with a sign if it may be longer.
func (r row) heldText() string {
	if r.exactly {
		return cli.Duration(r.held)
	}
	return ">" + cli.Duration(r.held)
}
