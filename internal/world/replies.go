package world

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Replies is a redis.Scripter without a server. Every script gets what the function returns, which may be no reply that a
// script of ours has. It is a function, which cannot be compared: redislock.New has to take such a client, too.
type Replies func() any

// Eval answers a script.
func (r Replies) Eval(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(r())
	return cmd
}

// EvalSha answers as Eval does.
func (r Replies) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return r.Eval(ctx, "", nil)
}

// EvalRO answers as Eval does.
func (r Replies) EvalRO(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return r.Eval(ctx, "", nil)
}

// EvalShaRO answers as Eval does.
func (r Replies) EvalShaRO(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return r.Eval(ctx, "", nil)
}

// ScriptExists answers nothing.
func (r Replies) ScriptExists(ctx context.Context, _ ...string) *redis.BoolSliceCmd {
	return redis.NewBoolSliceCmd(ctx)
}

// ScriptLoad answers nothing.
func (r Replies) ScriptLoad(ctx context.Context, _ string) *redis.StringCmd {
	return redis.NewStringCmd(ctx)
}
