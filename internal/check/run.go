package check

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/wire"
)

// A Run is one run of a script of ours, as it was sent.
type Run struct {
	Script string // its name; empty if the command runs none
	Keys   []string
	args   []string
}

// RunOf reads a command, from its name on.
func RunOf(words ...string) Run {
	if len(words) < 3 {
		return Run{}
	}
	s := wire.Sent(words[1])
	n, err := strconv.Atoi(words[2])
	if s == nil || err != nil || len(words) < 3+n {
		return Run{}
	}
	return Run{Script: s.Name(), Keys: words[3 : 3+n], args: words[3+n:]}
}

// SourceOf returns the source of the script with this name; empty if there is none.
func SourceOf(name string) string {
	for _, s := range wire.Scripts() {
		if s.Name() == name {
			return s.Source()
		}
	}
	return ""
}

// RunIn reads a command before it is sent.
func RunIn(cmd redis.Cmder) Run {
	var words []string
	for _, arg := range cmd.Args() {
		if text, ok := arg.(*string); ok {
			arg = *text
		}
		words = append(words, fmt.Sprint(arg))
	}
	return RunOf(words...)
}

// Arg returns ARGV[n], empty if it is absent.
func (r Run) Arg(n int) string {
	if n > len(r.args) {
		return ""
	}
	return r.args[n-1]
}

// Of reports whether the run is one of these scripts.
func (r Run) Of(scripts ...string) bool { return slices.Contains(scripts, r.Script) }

// Closes reports whether the run sets guards.
func (r Run) Closes() bool {
	at := 4
	if r.Of("release") {
		at = 3
	}
	return !r.Of("batch", "inspect", "pttl", "") && r.Arg(at) == "1"
}

// Channel returns the channel on which the caller may get messages; empty if it names none.
func (r Run) Channel() string {
	switch r.Script {
	case "release":
		return r.Arg(4)
	case "rw":
		return r.Arg(14)
	}
	return ""
}

// Waiter returns the id, and the place, of the waiter that stands in line, or gives up; empty if there is none.
func (r Run) Waiter() (id, place string) {
	switch r.Script {
	case "release":
		return r.Arg(6), r.Arg(7)
	case "rw":
		return r.Arg(10), r.Arg(11)
	}
	return "", ""
}

// NeverShortens reports whether a refresh leaves longer leases alone, as a renewal does.
func (r Run) NeverShortens() bool { return r.Of("refresh") && r.Arg(5) == "1" }
