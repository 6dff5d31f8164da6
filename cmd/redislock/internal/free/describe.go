package free

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// heldBy is a holder without what changes while it holds the key.
func heldBy(h redislock.Holder) redislock.Holder {
	h.Mode, h.Left, h.TTL = "", false, 0
	return h
}

// holders are those of all keys.
func holders(states []redislock.KeyState) (all []redislock.Holder) {
	for _, s := range states {
		all = append(all, s.Holders...)
	}
	return all
}

// countOf says how many holders of how many keys there are.
func countOf(states []redislock.KeyState) string {
	keys := 0
	for _, s := range states {
		if len(s.Holders) > 0 {
			keys++
		}
	}
	return count.Of(len(holders(states)), "holder") + " of " + count.Of(keys, "key")
}

// mostShown is how many columns of metadata are shown; they may be thousands.
const mostShown = 200

// name says who somebody is.
func name(metadata, caller string) string { return cli.Somebody(metadata, caller, mostShown) }

// describe says who holds a key, since when, and what is left of its lease.
func describe(h redislock.Holder) string {
	text := name(h.Metadata, h.Caller)
	if h.Left {
		return fmt.Sprintf("%s, after its work, for another %s", text, cli.Duration(h.TTL))
	}
	if !h.Since.IsZero() {
		text += ", since " + cli.Clock(h.Since)
		if age := time.Since(h.Since); age >= 0 { // else the clocks differ
			text += " (" + cli.Duration(age) + ")"
		}
	}
	return fmt.Sprintf("%s, %s left", text, cli.Duration(h.TTL))
}

// writeStates shows who holds keys, and who has them next.
func writeStates(w io.Writer, states []redislock.KeyState) {
	for _, s := range states {
		cli.Say(w, "%s: %s\n%s", cli.Text(s.Key), holding(s, len(s.Holders), "\n  and by "), next(s))
	}
}

// who lists the holders of a key in one line.
func who(s redislock.KeyState) string { return holding(s, 3, " and by ") }

// holding says how a key is held, and by whom: at most so many of them.
func holding(s redislock.KeyState, most int, and string) string {
	if len(s.Holders) == 0 {
		return "free"
	}
	var names []string
	for i, h := range s.Holders {
		if i == most {
			names = append(names, fmt.Sprintf("%d others", len(s.Holders)-most))
			break
		}
		names = append(names, describe(h))
	}
	return fmt.Sprintf("%s-locked by %s", s.Mode, strings.Join(names, and))
}

// next says who waits for a key, in a line of its own; empty if nobody does.
func next(s redislock.KeyState) string {
	waiting := slices.DeleteFunc(slices.Clone(s.Line), func(w redislock.Waiter) bool { return !w.Alive })
	switch {
	case len(waiting) > 0:
		text := fmt.Sprintf("  next in line: %s, to %s", name(waiting[0].Metadata, waiting[0].Caller), waiting[0].Mode)
		if more := len(waiting) - 1; more > 0 {
			text += fmt.Sprintf(", and %d behind", more)
		}
		return text + "\n"
	case s.Intent != nil:
		return fmt.Sprintf("  a writer waits: %s\n", name(s.Intent.Metadata, s.Intent.Caller))
	}
	return ""
}
