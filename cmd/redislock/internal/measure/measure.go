// Package measure has what a contest for locks is measured by: fairness, waits, and the commands that were sent.
package measure

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Fairness is Jain's index of what each of several has had: 1 if all had as much, 1/n if one had it all, 0 if nobody
// had anything.
func Fairness(shares []int) float64 {
	var sum, squares float64
	for _, n := range shares {
		x := float64(n)
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// Commands is a hook of go-redis that counts the scripts that are run, which is all that a Client sends for a lock. It is
// safe for concurrent use.
type Commands struct{ atomic.Int64 }

// DialHook changes nothing.
func (n *Commands) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a command that is sent by itself.
func (n *Commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		n.count(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts the commands of a pipeline, each of them.
func (n *Commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		n.count(cmds...)
		return next(ctx, cmds)
	}
}

func (n *Commands) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if name := cmd.Name(); name == "evalsha" || name == "eval" {
			n.Add(1)
		}
	}
}
