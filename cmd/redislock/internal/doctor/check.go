package doctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A Status is how bad a finding is.
type Status string

// The statuses, from good to bad. Unknown is neither: what could not be looked at.
const (
	OK      Status = "ok"
	Unknown Status = "unknown"
	Warning Status = "warning"
	Fault   Status = "fault"
)

// A Finding is what one check has found, on one server or on several that are alike.
type Finding struct {
	Check   string   `json:"check"`
	Status  Status   `json:"status"`
	Servers []string `json:"servers,omitempty"` // their addresses; empty if it is about all of them together
	Found   string   `json:"found"`
	Means   string   `json:"means,omitempty"`
	Mend    string   `json:"mend,omitempty"`
}

// A Check looks at one subject.
type Check struct {
	name string
	run  func(ctx context.Context, p *patient) []Finding
}

// checks are all of them, in the order of the report.
func checks() []Check {
	servers, primaries := (*patient).reached, (*patient).primaries
	return []Check{
		{"server", checkServer},
		{"version", each(servers, checkVersion)},
		{"commands", each(servers, checkCommands)},
		{"rights", checkRights},
		{"eviction", each(servers, checkEviction)},
		{"memory", each(servers, checkMemory)},
		{"persistence", each(servers, checkPersistence)},
		{"replicas", each(servers, checkReplicas)},
		{"min-replicas", each(primaries, checkMinReplicas)},
		{"slots", checkSlots},
		{"clocks", checkClocks},
		{"latency", each(primaries, checkLatency)},
		{"buffers", each(primaries, checkBuffers)},
		{"lifetimes", ofKeys(checkLifetimes)},
		{"foreign", ofKeys(checkForeign)},
		{"lines", ofKeys(checkLines)},
		{"starved", ofKeys(checkStarved)},
		{"deadlocks", ofKeys(checkDeadlocks)},
		{"libraries", ofKeys(checkLibraries)},
	}
}

func checkNames() (names []string) {
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// chosen are the checks of these names, in the order of the report; all if there are no names.
func chosen(names []string) ([]Check, error) {
	for _, name := range names {
		if all := checkNames(); !slices.Contains(all, name) {
			return nil, cli.Usagef("unknown check %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	return slices.DeleteFunc(checks(), func(c Check) bool { return len(names) > 0 && !slices.Contains(names, c.name) }), nil
}

// examine runs a check.
func (c Check) examine(ctx context.Context, p *patient) []Finding {
	return merge(c.name, c.run(ctx, p))
}

// merge puts together what is the same on several servers.
func merge(name string, findings []Finding) []Finding {
	var merged []Finding
	for _, f := range findings {
		f.Check = name
		i := slices.IndexFunc(merged, func(m Finding) bool {
			return len(m.Servers) > 0 && len(f.Servers) > 0 &&
				m.Status == f.Status && m.Found == f.Found && m.Means == f.Means && m.Mend == f.Mend
		})
		if i < 0 {
			merged = append(merged, f)
		} else {
			merged[i].Servers = append(merged[i].Servers, f.Servers...)
		}
	}
	return merged
}

// fine is a finding that all is well.
func fine(format string, args ...any) Finding {
	return Finding{Status: OK, Found: fmt.Sprintf(format, args...)}
}

// bad is a finding that is not.
func bad(status Status, found, means, mend string) Finding {
	return Finding{Status: status, Found: found, Means: means, Mend: mend}
}

// unknown is a finding of what could not be looked at.
func unknown(why, mend string) Finding {
	return Finding{Status: Unknown, Found: "could not be looked at: " + why, Mend: mend}
}

// notSeen is a finding of something that the user may not ask, or that nobody answers.
func notSeen(err error, rule string) Finding {
	text := err.Error()
	switch {
	case redis.HasErrorPrefix(err, "NOPERM "):
		return unknown("needs "+rule, "ACL SETUSER … "+rule+" for the user of the doctor, or ask somebody who may.")
	case disabled.MatchString(text):
		return unknown("the server does not answer this ("+rule+"); many services allow nobody to ask", "")
	case redis.HasErrorPrefix(err, "BUSY "):
		return bad(Fault, "could not be looked at: the server is BUSY", "A script runs and runs, and the server does nothing else: nobody gets a lock, and leases are not renewed.",
			"SCRIPT KILL, if it has written nothing; otherwise wait, or SHUTDOWN NOSAVE, and find out whose script it is.")
	case isAnswer(err):
		return unknown(text, "")
	}
	return bad(Fault, "could not be looked at: no answer: "+text,
		"The server has stopped answering while it was looked at, or the connection to it was cut. Locks that are held there cannot be renewed.",
		"see whether it still runs, and look again.")
}

// disabled is what a server says that has a command taken away.
var disabled = regexp.MustCompile(`(?is)^err .*(unknown command|unknown subcommand|unsupported)`)

// on says which server a finding is about.
func (f Finding) on(n *node) Finding {
	f.Servers = []string{n.addr}
	return f
}

// An oddity is what is wrong with an answer.
type oddity string

func (o oddity) Error() string { return string(o) }

// isAnswer reports whether a server has said it, or has said something that nobody understands.
func isAnswer(err error) bool {
	_, said := errors.AsType[redis.Error](err)
	_, odd := errors.AsType[oddity](err)
	return said || odd
}
