package wire

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A sender sends commands to the server, and returns when each is answered or has failed. For
// each of them withSource says whether the script itself goes along.
type sender interface {
	send(commands []command, withSource func(command) bool)
}

func byName(command) bool   { return false }
func bySource(command) bool { return true }

// A pipeliner is what a Redis client has to offer for calls to go out together.
type pipeliner interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// A pipeline sends commands as one pipeline.
type pipeline struct{ rdb pipeliner }

func (d pipeline) send(commands []command, withSource func(command) bool) {
	sent := clock.Now()
	for _, p := range commands {
		p.prepare(sent, withSource(p))
	}
	switch len(commands) {
	case 0:
	case 1:
		// With the context of its caller, for what the hooks of the Redis client find there.
		_ = d.rdb.Process(commands[0].context(), commands[0])
	default:
		ctx := context.Background()
		pipe := d.rdb.Pipeline()
		for _, p := range commands {
			_ = pipe.Process(ctx, p)
		}
		_, _ = pipe.Exec(ctx)
	}
}
