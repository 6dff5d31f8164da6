package cli

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Around is a hook of a Redis client that has commands sent in its own way: one by itself, or those of a pipeline, or some of
// them. It gives an error to those that it does not have sent. The hook of the tests is check.Around, which imports testing.
type Around func(ctx context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) error

// DialHook lets connections pass.
func (a Around) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook has a command sent.
func (a Around) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return a(ctx, []redis.Cmder{cmd}, func([]redis.Cmder) error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook has the commands of a pipeline sent.
func (a Around) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return a(ctx, cmds, func(cmds []redis.Cmder) error { return next(ctx, cmds) })
	}
}
