// Package wire brings runs of Lua scripts to Redis: together with other runs at the same time, again if they were not
// answered, and to replicas. It knows nothing of what the scripts do.
package wire

import (
	"context"
	"crypto/fips140"
	"crypto/sha1"
	"encoding/hex"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A Script is a Lua script as it is sent. It never changes.
type Script struct {
	name   string
	source func(name string) string
	once   sync.Once
	made   text
}

// A text is what a server gets of a script. Both are strings, kept boxed, as go-redis takes them.
type text struct {
	source any
	sha    any // the name under which the server caches the source
}

// NewScript makes a script; source is called once, on first use. Its name is for errors, and for programs that watch
// what is sent.
func NewScript(name string, source func(name string) string) *Script {
	return &Script{name: name, source: source}
}

func (s *Script) text() *text {
	s.once.Do(func() { s.made = textOf(s.source(s.name)) })
	return &s.made
}

func textOf(source string) text {
	var sum [sha1.Size]byte
	// The sum is the name that Redis gives to a script and protects nothing, so a process that is held to FIPS 140-3
	// may make it. To ask the server for it (SCRIPT LOAD) would cost a round trip and one more command in the user's
	// ACL.
	fips140.WithoutEnforcement(func() { sum = sha1.Sum([]byte(source)) })
	return text{source, hex.EncodeToString(sum[:])}
}

// Name returns the name of the script.
func (s *Script) Name() string { return s.name }

// Source returns the Lua of the script.
func (s *Script) Source() string { return s.text().source.(string) }

// SHA returns the name under which the server caches the source.
func (s *Script) SHA() string { return s.text().sha.(string) }

// invocation returns the command and its first argument.
func (s *Script) invocation(withSource bool) (command, argument any) {
	if withSource {
		return "eval", s.text().source
	}
	return "evalsha", s.text().sha
}

// A sender sends commands to the server, and returns when each is answered or has failed. withSource says for each of
// them whether to send the script itself.
type sender interface {
	send(commands []command, withSource func(command) bool)
}

func byName(command) bool   { return false }
func bySource(command) bool { return true }

// A pipeline sends commands as one pipeline. It has two methods of a Redis client, not an interface: an interface would
// link each type that has a Pipeline.
type pipeline struct {
	process func(ctx context.Context, cmd redis.Cmder) error
	begin   func() redis.Pipeliner
}

func (d pipeline) send(commands []command, withSource func(command) bool) {
	sent := clock.Now()
	for _, p := range commands {
		p.prepare(sent, withSource(p))
	}
	switch len(commands) {
	case 0:
	case 1:
		// With the context of its caller, for the hooks of the Redis client.
		_ = d.process(commands[0].context(), commands[0])
	default:
		ctx := context.Background()
		pipe := d.begin()
		for _, p := range commands {
			_ = pipe.Process(ctx, p)
		}
		_, _ = pipe.Exec(ctx)
	}
}
