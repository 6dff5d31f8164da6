package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// A meter reads counters, by a connection of its own.
type meter struct{ asks *redis.Client } // nil: the server does not matter

// count says what is used while something is done. What counting costs is taken off, and there is no garbage of before.
func (m meter) count(ctx context.Context, do func() (ops int, err error)) (course.Usage, error) {
	var at [3]course.Usage
	var ops int
	var err error
	var wall time.Duration
	runtime.GC()
	for i := range at {
		if i == 2 {
			began := time.Now()
			if ops, err = do(); err != nil {
				return course.Usage{}, err
			}
			wall = time.Since(began)
		}
		if at[i], err = m.read(ctx); err != nil {
			return course.Usage{}, err
		}
	}
	used := at[2].Less(at[1]).Less(at[1].Less(at[0]))
	used.Ops, used.Wall = ops, wall
	return used, nil
}

// read returns what the server and this process have used so far.
func (m meter) read(ctx context.Context) (u course.Usage, err error) {
	if m.asks != nil {
		sections, err := m.asks.InfoMap(ctx, "cpu", "stats", "commandstats").Result()
		if err != nil {
			return u, fmt.Errorf("info: %w", err)
		}
		if u, err = ofServer(sections["CPU"], sections["Stats"], sections["Commandstats"]); err != nil {
			return u, fmt.Errorf("info: %w", err)
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u.Allocs, u.Heap = int(memory.Mallocs), int(memory.TotalAlloc)
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return u, err
	}
	u.Client = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	return u, nil
}

// ofServer reads sections of INFO. The processor time is that of the whole process: the time of a command would be one of
// the clock, and would lack what reading and writing cost.
func ofServer(cpu, stats, commands map[string]string) (u course.Usage, err error) {
	for _, of := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(cpu[of], 64)
		if err != nil {
			return u, fmt.Errorf("%s: %w", of, err)
		}
		u.Server += time.Duration(seconds * 1e9)
	}
	for _, of := range []string{"total_net_input_bytes", "total_net_output_bytes"} {
		bytes, err := strconv.Atoi(stats[of])
		if err != nil {
			return u, fmt.Errorf("%s: %w", of, err)
		}
		u.Bytes += bytes
	}
	for name, value := range commands {
		calls, err := strconv.Atoi(strings.TrimPrefix(strings.Split(value, ",")[0], "calls="))
		if err != nil {
			return u, fmt.Errorf("%s: %w", name, err)
		}
		if isCounted(strings.TrimPrefix(name, "cmdstat_")) {
			u.Commands += calls
		}
	}
	return u, nil
}

// isCounted leaves out the calls of scripts, and what belongs to connections and to measuring.
func isCounted(command string) bool {
	switch name, _, _ := strings.Cut(command, "|"); name {
	case "eval", "evalsha", "info", "hello", "client", "ping", "script", "subscribe", "unsubscribe", "ssubscribe", "sunsubscribe":
		return false
	}
	return true
}
