package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// around stands around a script. It takes note of the commands that the script runs, and to some of them a test replies.
const around = `
local server, noted = redis, {}
local redis = {error_reply = redis.error_reply, status_reply = redis.status_reply}
local function reply_to(command, key)
  %s
end
local function run(how, ...)
  noted[#noted + 1] = table.concat({...}, ' ')
  local reply = reply_to(...)
  if reply ~= nil then
    return reply
  end
  return server[how](...)
end
redis.call = function(...) return run('call', ...) end
redis.pcall = function(...) return run('pcall', ...) end
local function script()
  %s
end
return {script(), noted}
`

// A played is what a script has replied, and the commands that it has run.
type played struct {
	reply    any
	commands []string
}

// play runs a script on a server which replies to some commands what `replies` says, in Lua: nil for what the server itself does.
// So the clock of the server stands still, or moves on between two commands of the script.
func (s *fixture) play(t *testing.T, q proto.Request, stamp owners.Stamp, replies string) played {
	t.Helper()
	r := runOf(q, stamp)
	source := fmt.Sprintf(around, replies, r.Script().Source())
	all := check.Must[[]any](t)(s.rdb.Do(t.Context(), r.Append([]any{"eval", source})...).Slice())
	p := played{reply: all[0]}
	for _, command := range all[1].([]any) {
		p.commands = append(p.commands, command.(string))
	}
	return p
}

// those returns the commands that begin like this.
func (p played) those(beginning string) (found []string) {
	for _, command := range p.commands {
		if strings.HasPrefix(command+" ", beginning+" ") {
			found = append(found, command)
		}
	}
	return found
}

// at is the part of a reply with this index.
func (p played) at(i int) any {
	all, _ := p.reply.([]any)
	if i >= len(all) {
		return nil
	}
	return all[i]
}

// clockAt has the clock of a server stand at this microsecond.
func clockAt(micros int64) string {
	return fmt.Sprintf("if command == 'time' then return {'%d', '%d'} end\n", micros/1_000_000, micros%1_000_000)
}

// restOf has a key that much of its TTL left, in ms.
func restOf(key string, ms int64) string {
	return fmt.Sprintf("if command == 'pttl' and key == %q then return %d end\n", key, ms)
}

// withServer runs a scenario on every kind of real server: miniredis takes long for very many keys or waiters.
func withServer(t *testing.T, fn func(t *testing.T, s *fixture)) {
	t.Helper()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) { fn(t, newFixture(t, redistest.Shared(t, kind))) })
}
