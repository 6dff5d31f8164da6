package main

import (
	"context"
	"errors"
	"os"
	"runtime/pprof"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/proof/levels/course"
	"github.com/seed-14de3678/redislock/proof/levels/memory"
)

// inMemory is a stage whose server is inside of this process. It answers as the one at addr does.
func inMemory(addr string) stage {
	server := memory.New(addr)
	rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: server.Dial})
	s := overNetwork(rdb)
	s.memory = server
	return s
}

// hear has the real server answer what a kind asks: first for one caller, twice because the first time loads its scripts, then for
// all of them.
func (s stage) hear(ctx context.Context, kind course.Kind) error {
	s.memory.Yield(kind.Callers > 1)
	return s.memory.Hear(func() error {
		one, sets := kind, setsOf(kind)
		one.Callers = 1
		return errors.Join(s.crowd(ctx, one, sets, 2), s.crowd(ctx, kind, sets, 2*kind.Callers))
	})
}

// profiled does something, and writes a profile of that into a file.
func profiled(file string, do func() (int, error)) func() (int, error) {
	return func() (ops int, err error) {
		f, err := os.Create(file)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return 0, err
		}
		defer pprof.StopCPUProfile()
		return do()
	}
}
