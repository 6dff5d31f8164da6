//go:build !before

package main

import (
	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
)

// passing are the options of those who pass a lock on.
func passing() *redislock.Options { return &redislock.Options{Queue: true, PassOn: task.PassOn} }
