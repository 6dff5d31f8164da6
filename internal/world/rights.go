package world

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// ACLCommands are the commands that the user of a Client of a single server has to be allowed. HELLO
// and AUTH always are.
var ACLCommands = []string{
	"eval", "evalsha",
	"del", "exists", "get", "hdel", "hget", "hlen", "hset", "info", "mget", "msetnx",
	"pexpire", "pexpireat", "pttl", "publish", "set", "time", "type", "unlink",
	"zadd", "zcard", "zcount", "zpopmin", "zrange", "zrem", "zremrangebyscore", "zrevrangebyscore", "zscore",
	"subscribe", "wait",
}

// A Guarded is a server with a user that may do what [ACLCommands] says, on keys with a prefix and beside them.
type Guarded struct {
	Admin *redis.Client // may do everything
	RDB   *redis.Client // of the user
}

// NewGuarded starts a server with such a user.
func NewGuarded(t *testing.T, prefix string) *Guarded {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	g := &Guarded{Admin: server.Client(t)}
	args := []any{"acl", "setuser", "app", "reset", "on", ">secret", "&redislock:*", "-@all"}
	for _, pattern := range []string{"", "redislock:*:{", "redislock:*=", "redislock:*~{*}"} {
		args = append(args, "~"+pattern+prefix+"*")
	}
	for _, command := range ACLCommands {
		args = append(args, "+"+command)
	}
	check.NoError(t, g.Admin.Do(t.Context(), args...).Err())
	g.RDB = server.Client(t, func(o *redis.Options) {
		o.Username, o.Password, o.MaxRetries = "app", "secret", -1
	})
	return g
}

// Set allows ("+get") or forbids ("-get") a command.
func (g *Guarded) Set(t *testing.T, rule string) {
	t.Helper()
	check.NoError(t, g.Admin.Do(t.Context(), "acl", "setuser", "app", rule).Err())
}

// WithoutTTL returns the keys without a TTL.
func (g *Guarded) WithoutTTL(t *testing.T) []string {
	t.Helper()
	const script = `local found = {}
		for _, key in ipairs(redis.call('keys', '*')) do
			if redis.call('pttl', key) == -1 then found[#found + 1] = key end;
		end
		return found`
	return check.Must[[]string](t)(g.Admin.Eval(t.Context(), script, nil).StringSlice())
}
