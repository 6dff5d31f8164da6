package check

import (
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// A Run is one run of a script of ours, as it was sent. For a command that runs none the Script is empty.
type Run struct{ decode.Call }

// RunOf reads a command, from its name on.
func RunOf(words ...string) Run {
	c, _ := decode.Command(words...)
	return Run{c}
}

// SourceOf returns the source of the script with this name; empty if there is none.
func SourceOf(name string) string {
	for _, s := range proto.Scripts() {
		if s.Name() == name {
			return s.Source()
		}
	}
	return ""
}

// RunIn reads a command before it is sent.
func RunIn(cmd redis.Cmder) Run { return RunOf(decode.Words(cmd.Args())...) }

// Of reports whether the run is one of these scripts.
func (r Run) Of(scripts ...string) bool { return slices.Contains(scripts, r.Script) }

// Closes reports whether the run sets guards.
func (r Run) Closes() bool { return r.Can.Close }

// Channel returns the channel on which the caller may get messages; empty if it names none.
func (r Run) Channel() string {
	switch {
	case r.Release != nil:
		return r.Release.Channel
	case r.Obtain != nil && r.Obtain.Waiter != nil:
		return r.Obtain.Waiter.Channel
	}
	return ""
}

// Waiter returns the id and the place of the waiter that stands in line or quits it; empty if there is none.
func (r Run) Waiter() (id string, place proto.Place) {
	switch {
	case r.Release != nil:
		return r.Release.Waiter, r.Release.Place
	case r.Obtain != nil && r.Obtain.Waiter != nil:
		return r.Obtain.Waiter.ID, r.Obtain.Waiter.Place
	}
	return "", proto.Place{}
}

// NeverShortens reports whether a refresh leaves longer leases alone, as a renewal does.
func (r Run) NeverShortens() bool { return r.Refresh != nil && r.Refresh.NeverShortens }
