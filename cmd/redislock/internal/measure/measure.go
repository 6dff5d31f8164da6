// Package measure has what a contest for locks is measured by: fairness, waits, and the commands that were sent.
package measure

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
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

// Scripts counts the scripts that a Redis client runs from now on, which is all that a Client sends for a lock.
func Scripts(rdb interface{ AddHook(redis.Hook) }) *atomic.Int64 {
	n := new(atomic.Int64)
	rdb.AddHook(cli.Around(func(_ context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		for _, cmd := range cmds {
			if name := cmd.Name(); name == "evalsha" || name == "eval" {
				n.Add(1)
			}
		}
		return send(cmds)
	}))
	return n
}
