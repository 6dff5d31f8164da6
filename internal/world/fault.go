package world

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Refusal is an error that a server might give.
type Refusal string

// Error returns what the server says.
func (r Refusal) Error() string { return string(r) }

// RedisError marks the error as one of a server.
func (r Refusal) RedisError() {}

// Slow is a hook that delays every command by so long.
type Slow time.Duration

// DialHook is a part of redis.Hook.
func (s Slow) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is a part of redis.Hook.
func (s Slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		time.Sleep(time.Duration(s))
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook is a part of redis.Hook.
func (s Slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		time.Sleep(time.Duration(s))
		return next(ctx, cmds)
	}
}
