package wire_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// refused is an error of a server, as go-redis hands it on.
type refused string

func (r refused) Error() string { return string(r) }
func (refused) RedisError()     {}

// An instead answers some commands in the place of the server. It reports whether it has answered.
type instead func(cmd redis.Cmder) bool

func (i instead) DialHook(next redis.DialHook) redis.DialHook { return next }

func (i instead) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if i(cmd) {
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

func (i instead) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
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
