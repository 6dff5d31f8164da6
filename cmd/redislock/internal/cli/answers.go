package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A knownError is an answer of a server that means something to whoever uses the tool.
type knownError struct {
	what   string // the answer is, or begins with
	status int
	says   string // of the server
	help   string // what can be done; empty: nothing more
}

const refusesUser = "refuses this user"

// known are the answers, as all versions of Redis and Valkey word them.
var known = []knownError{
	{"NOPERM", Refused, refusesUser, ""},
	{"ERR The user executing the script can't run this command", Refused, refusesUser, ""}, // Redis 7.0
	{"ERR ACL failure in script", Refused, refusesUser, ""},
	{"NOAUTH", Refused, "wants a password", "write redis://user:password@host, or set $" + authVariable},
	{"WRONGPASS", Refused, "does not take this user with this password", ""},
	{"ERR invalid password", Refused, "does not take this password", ""},
	{"ERR AUTH <password> called without any password", Refused, "has no password", "leave it out of the url"},
	{"ERR Client sent AUTH, but no password is set", Refused, "has no password", "leave it out of the url"},
	{"DENIED", Refused, "serves its own machine alone (protected mode)", "give it a password"},
	{"LOADING", Unavailable, "is loading its data", "try again in a while"},
	{"READONLY", Unavailable, "is a replica, which takes no locks", "name its primary"},
	{"MASTERDOWN", Unavailable, "is a replica that has lost its primary", ""},
	{"OOM", Unavailable, "is out of memory (maxmemory)", ""},
	{"MISCONF", Unavailable, "takes no locks because it cannot save to its disk", ""},
	{"NOREPLICAS", Unavailable, "has too few replicas to take locks (min-replicas-to-write)", ""},
	{"CLUSTERDOWN", Unavailable, "is down: the Cluster does not serve all slots", ""},
	{"TRYAGAIN", Unavailable, "moves this slot of the Cluster to another node", "try again in a while"},
	{"MOVED", Unavailable, "is one node of a Cluster, and the key is on another one", ""},
	{"ASK", Unavailable, "moves this slot of the Cluster to another node", "try again in a while"},
	{"BUSY", Unavailable, "is busy with somebody's script", "SCRIPT KILL ends that"},
	{"ERR max number of clients reached", Unavailable, "has too many clients (maxclients)", ""},
	{"ERR This instance has cluster support disabled", Unavailable, "is no Cluster", "leave ?addr= out of the url"},
	{"ERR DB index is out of range", Unavailable, "does not have this database", ""},
	{"ERR SELECT is not allowed in cluster mode", Unavailable, "is a node of a Cluster, which has no database but 0", ""},
	{"ERR unknown command", Unavailable, "does not know a command that locks need", "take Redis 6.2 or later"},
	{"WRONGTYPE", NoLock, "has something that is no lock under this key", ""},
}

// knownAnswer returns what an answer means, nil if that is not known.
func knownAnswer(answer redis.Error) *knownError {
	text := legible(answer)
	for i, k := range known {
		rest, ok := strings.CutPrefix(text, k.what)
		if ok && (rest == "" || strings.Contains(k.what, " ") || rest[0] == ' ') {
			return &known[i]
		}
	}
	return nil
}

// IsRefusal reports whether an error says that the user may not do something.
func IsRefusal(err error) bool {
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	k := knownAnswer(answer)
	return k != nil && k.says == refusesUser
}

// explain makes the message.
func (k *knownError) explain(ctx context.Context, r *Redis, name string, answer redis.Error, err error) error {
	help := k.help
	switch {
	case k.says == refusesUser && r != nil:
		help = grants(ctx, r, legible(answer))
	case k.help != "":
		help = "; " + help
	}
	return Exit(k.status, &explained{
		text: fmt.Sprintf("%s: the server %s: %s%s", name, k.says, strings.ReplaceAll(err.Error(), answer.Error(), legible(answer)), help),
		err:  err,
	})
}

// An explained is an error in other words.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() error { return e.err }
