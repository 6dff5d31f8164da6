package check

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Around is a hook that sends each single command in its own way: send does it. Pipelines pass.
type Around func(cmd redis.Cmder, send func() error) error

// DialHook lets connections pass.
func (a Around) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook has a command sent.
func (a Around) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return a(cmd, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook lets pipelines pass.
func (a Around) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Answered is a hook that sees each command when it has its answer, also in a pipeline.
type Answered func(cmd redis.Cmder)

// DialHook lets connections pass.
func (a Answered) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook shows a command by itself.
func (a Answered) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		a(cmd)
		return err
	}
}

// ProcessPipelineHook shows each command of a pipeline.
func (a Answered) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			a(cmd)
		}
		return err
	}
}

// Instead is a hook that answers some commands instead of the server, also in a pipeline: it reports whether it
// has.
type Instead func(cmd redis.Cmder) bool

// DialHook lets connections pass.
func (i Instead) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook answers a command by itself, or has it sent.
func (i Instead) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if i(cmd) {
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook answers some commands of a pipeline, and has the others sent.
func (i Instead) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var sent []redis.Cmder
		var err error
		for _, cmd := range cmds {
			if !i(cmd) {
				sent = append(sent, cmd)
			} else if err == nil {
				err = cmd.Err()
			}
		}
		if len(sent) == 0 {
			return err
		}
		if failed := next(ctx, sent); failed != nil {
			return failed
		}
		return err
	}
}
