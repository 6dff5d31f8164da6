package wire

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

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
