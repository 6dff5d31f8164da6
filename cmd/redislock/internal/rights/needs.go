package rights

import "slices"

// A need is a command that the user has to be allowed, and how to ask for it without changing anything. In the arguments
// $lock is a name that a lock could have, and $beside that of a key beside it: nobody has either of them.
type need struct {
	command   string
	purpose   string // what does not work without it
	probe     []any
	onCluster bool // it is needed on a Cluster alone
}

// The purposes that several commands have.
const (
	everyLock  = "every lock"
	readLocks  = "read locks"
	queue      = "Options.Queue"
	fenced     = "Options.Fenced"
	guards     = "requests that were not answered (guards)"
	connection = "every connection"
)

// needs are the commands of docs/rights.md, in its order; TestDocs compares them. They are asked of a key that nobody
// has. A command that would create it gets arguments of which the server complains, after it has looked at the
// rights: HSET without the last value, MSETNX likewise.
var needs = []need{
	{command: "eval", purpose: everyLock, probe: []any{"return 1", 0}},
	{command: "evalsha", purpose: everyLock, probe: []any{"0000000000000000000000000000000000000000", 0}},
	{command: "del", purpose: everyLock, probe: []any{"$beside"}},
	{command: "exists", purpose: everyLock, probe: []any{"$beside"}},
	{command: "get", purpose: "Options.Intent, Inspect", probe: []any{"$beside"}},
	{command: "hdel", purpose: fenced, probe: []any{"$beside", "field"}},
	{command: "hget", purpose: fenced, probe: []any{"$beside", "field"}},
	{command: "hlen", purpose: fenced, probe: []any{"$beside"}},
	{command: "hset", purpose: fenced, probe: []any{"$beside", "field", "value", "field without a value"}},
	{command: "info", purpose: "WithMinUptime", probe: []any{"server"}},
	{command: "mget", purpose: everyLock, probe: []any{"$beside"}},
	{command: "msetnx", purpose: "locks of several keys", probe: []any{"$beside", "value", "$beside"}},
	{command: "pexpire", purpose: everyLock, probe: []any{"$beside", 1}},
	{command: "pexpireat", purpose: readLocks, probe: []any{"$beside", 1}},
	{command: "publish", purpose: queue, probe: []any{"$channel", ""}},
	{command: "pttl", purpose: everyLock, probe: []any{"$beside"}},
	{command: "set", purpose: everyLock, probe: []any{"$beside", "value", "xx"}},
	{command: "subscribe", purpose: queue + ", WithBreakNotices"},
	{command: "time", purpose: readLocks + ", " + queue + ", " + fenced + ", Lock.Leave"},
	{command: "type", purpose: readLocks + ", Inspect, Break", probe: []any{"$beside"}},
	{command: "unlink", purpose: "many numbers of dead readers, beside the work of the server", probe: []any{"$beside"}},
	{command: "wait", purpose: "WithReplicas", probe: []any{0, 0}},
	{command: "zadd", purpose: readLocks + ", " + queue + ", " + guards, probe: []any{"$beside", "xx", 0, "member"}},
	{command: "zcard", purpose: fenced, probe: []any{"$beside"}},
	{command: "zcount", purpose: "a fast Obtain that stands in line for one key", probe: []any{"$beside", 0, 0}},
	{command: "zpopmin", purpose: "a fast Release where others stand in line", probe: []any{"$beside"}},
	{command: "zrange", purpose: readLocks + ", " + queue + ", " + guards, probe: []any{"$beside", 0, 0}},
	{command: "zrem", purpose: readLocks + ", " + queue, probe: []any{"$beside", "member"}},
	{command: "zremrangebyscore", purpose: guards, probe: []any{"$beside", 0, 0}},
	{command: "zrevrangebyscore", purpose: queue + " beside guards", probe: []any{"$beside", 0, 0}},
	{command: "zscore", purpose: readLocks + ", " + queue + ", " + guards, probe: []any{"$beside", "member"}},

	{command: "spublish", purpose: queue, probe: []any{"$channel", ""}, onCluster: true},
	{command: "ssubscribe", purpose: queue + ", WithBreakNotices", onCluster: true},
	{command: "sunsubscribe", purpose: queue + ", WithBreakNotices", onCluster: true},
	{command: "cluster|slots", purpose: everyLock + " on a Cluster", onCluster: true},
	{command: "command", purpose: everyLock + " on a Cluster", onCluster: true},
}

// purposeOf says what a command is for. One that is in no list is sent when a connection is made, such as SELECT.
func purposeOf(command string) string {
	for _, n := range needs {
		if n.command == command {
			return n.purpose
		}
	}
	return connection
}

// byRank compares what is missing by the order of the list.
func byRank(a, b Missing) int { return rank(a) - rank(b) }

func rank(m Missing) int {
	if m.Command == "" {
		return len(needs)
	}
	return slices.IndexFunc(needs, func(n need) bool { return n.command == m.Command })
}
