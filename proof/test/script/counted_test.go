package script_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// counting stands in front of a script, and counts how many values its commands are given, and reply; and how many bytes the
// texts of the replies have.
const counting = `
local server, redis = redis, {error_reply = redis.error_reply, status_reply = redis.status_reply}
local function counts(reply, ...)
  local n = select('#', ...) + (type(reply) == 'table' and #reply or 1)
  server.call('incrby', 'values', n)
  local bytes = 0
  for _, text in ipairs(type(reply) == 'table' and reply or {reply}) do
    bytes = bytes + (type(text) == 'string' and #text or 0)
  end
  server.call('incrby', 'bytes', bytes)
  return reply
end
redis.call = function(...) return counts(server.call(...), ...) end
redis.pcall = function(...) return counts(server.pcall(...), ...) end
`

// A counted is a server that nobody else uses, and a Client whose scripts count the values that they look at.
type counted struct {
	admin  *redis.Client
	client *redislock.Client
}

func newCounted(t *testing.T, opts ...redislock.ClientOption) *counted {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	rdb := server.Client(t)
	rdb.AddHook(check.Around{Before: withCounting})
	c := &counted{admin: server.Client(t), client: redislock.New(rdb, opts...)}
	t.Cleanup(c.client.Close)
	return c
}

// values returns how many values the scripts have looked at that fn has sent.
func (c *counted) values(t *testing.T, fn func()) int {
	t.Helper()
	return c.counts(t, "values", fn)
}

// bytes returns how many bytes they have read.
func (c *counted) bytes(t *testing.T, fn func()) int {
	t.Helper()
	return c.counts(t, "bytes", fn)
}

func (c *counted) counts(t *testing.T, what string, fn func()) int {
	t.Helper()
	check.NoError(t, c.admin.Set(t.Context(), what, 0, 0).Err())
	fn()
	return check.Must[int](t)(c.admin.Get(t.Context(), what).Int())
}

// withCounting has a script sent with what counts.
func withCounting(cmd redis.Cmder) {
	if run := check.RunIn(cmd); run.Script != "" {
		cmd.Args()[0], cmd.Args()[1] = "eval", counting+check.SourceOf(run.Script)
	}
}
