package main

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// faults is a hook that has the answer to one script fail to come.
type faults struct {
	next atomic.Pointer[string] // the operation that was asked for last, and not done yet
	held atomic.Value           // the command that was kept back
}

// DialHook changes nothing.
func (f *faults) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook has a command on its own fail.
func (f *faults) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" && cmd.Name() != "eval" {
			return next(ctx, cmd)
		}
		fault := f.next.Swap(nil)
		if fault == nil {
			return next(ctx, cmd)
		}
		if *fault == compat.Hold {
			f.held.Store(copied(cmd.Args()))
		} else if err := next(ctx, cmd); redis.HasErrorPrefix(err, "NOSCRIPT") {
			f.next.Store(fault)
			return err
		}
		cmd.SetErr(io.EOF)
		return io.EOF
	}
}

// ProcessPipelineHook has the first of several commands fail like those that are sent on their own.
func (f *faults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if fault := f.next.Load(); err == nil && fault != nil && *fault == compat.Lose && f.next.CompareAndSwap(fault, nil) {
			cmds[0].SetErr(io.EOF)
			return io.EOF
		}
		return err
	}
}

// copied copies a command, of which the next try may share a part.
func copied(command []any) []any {
	var all []any
	for _, arg := range command {
		switch arg := arg.(type) {
		case *string:
			all = append(all, *arg)
		case *int64:
			all = append(all, *arg)
		default:
			all = append(all, arg)
		}
	}
	return all
}
