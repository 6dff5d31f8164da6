package check

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// A Tally is a hook that counts the commands a client sends whose names begin with Prefix.
type Tally struct {
	Prefix string
	Sent   atomic.Int64
}

// DialHook lets connections pass.
func (c *Tally) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a command by itself.
func (c *Tally) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts each command of a pipeline.
func (c *Tally) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.count(cmd)
		}
		return next(ctx, cmds)
	}
}

func (c *Tally) count(cmd redis.Cmder) {
	if strings.HasPrefix(cmd.Name(), c.Prefix) {
		c.Sent.Add(1)
	}
}
