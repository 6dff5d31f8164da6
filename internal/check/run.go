package check

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// A Run is one run of a script of ours, as it was sent. Of a command that runs none the Script is empty.
type Run struct {
	decode.Call
	Keys []string // all that the script is given
}

// RunOf reads a command, from its name on.
func RunOf(words ...string) (r Run) {
	if len(words) < 3 {
		return r
	}
	s := decode.Sent(words[1])
	n, err := strconv.Atoi(words[2])
	if s == nil || err != nil || len(words) < 3+n {
		return r
	}
	r.Call, _ = decode.Decode(s.Name(), words[3:3+n], words[3+n:]) // else it is none of a Client, and has its Script alone
	r.Keys = words[3 : 3+n]
	return r
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
func RunIn(cmd redis.Cmder) Run {
	words := make([]string, 0, len(cmd.Args()))
	for _, arg := range cmd.Args() {
		switch by := arg.(type) {
		case *string:
			arg = *by
		case *int64:
			arg = *by
		}
		words = append(words, fmt.Sprint(arg))
	}
	return RunOf(words...)
}

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

// Waiter returns the id, and the place, of the waiter that stands in line, or gives up; empty if there is none.
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
