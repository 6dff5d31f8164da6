package script_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
)

var noStamp owners.Stamp

// afterUptime asks for a key of a server that has been up for so long.
func afterUptime(key string, uptime time.Duration) *proto.Run {
	value := "mine"
	return runOf(&proto.Obtain{Set: lockKeys([]string{key}, nil), Value: &value, TTL: longLease, MinUptime: uptime}, noStamp)
}

// Who may not ask for how long the server has been up is told just that, and takes nothing.
func TestUptimeWithoutRight(t *testing.T) {
	t.Parallel()
	g, s := newGuardedFixture(t, "info")
	key := s.key("k")
	got, err := s.send(t, afterUptime(key, time.Minute))
	if err == nil || strings.Contains(err.Error(), "user_script") {
		t.Errorf("got reply %v and error %v, want one about the permission and not about the script", got, err)
	}
	if left := g.Admin.Exists(t.Context(), key).Val(); left > 0 {
		t.Error("the key is taken")
	}
}

// For how long the server has been up is known to a user who may ask for nothing but that part of INFO.
func TestUptimeWithRightForItsPart(t *testing.T) {
	t.Parallel()
	g, s := newGuardedFixture(t, "info")
	g.Set(t, "+info|server")
	got := check.Must[any](t)(s.send(t, afterUptime(s.key("k"), 100*365*24*time.Hour)))
	if refused, ok := got.([]any); !ok || len(refused) < 3 || refused[2] != "restarted" {
		t.Errorf("got reply %v", got)
	}
}

// quietInfo stands in front of a script, and has INFO say nothing of the time.
const quietInfo = `
local server = redis
local redis = {call = server.call, error_reply = server.error_reply, pcall = function(command, ...)
  return command == 'info' and '# Server\r\n' or server.pcall(command, ...)
end}
`

// Where INFO does not say for how long the server has been up, nothing is taken, and the caller is told why.
func TestUptimeOfWhichInfoSaysNothing(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		key := s.key("k")
		r := afterUptime(key, time.Minute)
		got, err := s.rdb.Do(t.Context(), r.Append([]any{"eval", quietInfo + r.Script().Source()})...).Result()
		if err == nil || !strings.HasPrefix(err.Error(), "ERR INFO does not say") {
			t.Errorf("got reply %v and error %v", got, err)
		}
		if left := s.rdb.Exists(t.Context(), key).Val(); left > 0 {
			t.Error("the key is taken")
		}
	})
}
