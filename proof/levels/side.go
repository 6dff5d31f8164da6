package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/internal/worker"
	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// A side is a version at work: a worker, and a server that is asked by it alone.
type side struct {
	version version
	program string // of the worker
	server  *redistest.Server
	worker  *worker.Process[course.Order, course.Usage]
}

// start starts the worker of a version and its server, both on the processor that is named; empty: on any.
func start(ctx context.Context, v version, program, processor string) (_ *side, err error) {
	s := &side{version: v, program: program}
	if s.server, err = redistest.Launch(redistest.Redis); err != nil {
		return nil, err
	}
	args := []string{program, s.server.Addr()}
	if processor != "" {
		pid := strconv.Itoa(s.server.PID())
		if out, err := exec.CommandContext(ctx, "taskset", "-a", "-c", "-p", processor, pid).CombinedOutput(); err != nil {
			s.server.Stop()
			return nil, fmt.Errorf("taskset: %w: %s", err, out)
		}
		args = append([]string{"taskset", "-c", processor}, args...)
	}
	if s.worker, err = worker.Start[course.Order, course.Usage](ctx, args[0], args[1:]...); err != nil {
		s.server.Stop()
		return nil, err
	}
	return s, nil
}

// block has so many operations of a kind done.
func (s *side) block(kind, ops int) (course.Usage, error) {
	return s.do(course.Order{Kind: kind, Ops: ops})
}

// do has an order done.
func (s *side) do(order course.Order) (u course.Usage, err error) {
	if u, err = s.worker.Do(order); err != nil {
		return u, fmt.Errorf("%s: %w", s.version.name, err)
	}
	return u, nil
}

// stop ends the worker and the server, and returns when they are gone.
func (s *side) stop() error {
	err := s.worker.Stop()
	s.server.Stop()
	return err
}

// processor is the last one of those that this process may use, by the name that taskset has for it. It is empty where there is
// no taskset. One processor for a worker and its server leaves the others to what else the machine does, and both then
// take turns in the same way whatever that is: on two of them, how many requests a server finds at once, and what each costs
// then, depends on how soon a processor that sleeps wakes up.
func processor() string {
	status, err := os.ReadFile("/proc/self/status")
	if _, missing := exec.LookPath("taskset"); err != nil || missing != nil {
		return ""
	}
	_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ = strings.Cut(strings.TrimSpace(list), "\n")
	return list[strings.LastIndexAny(list, ",-")+1:]
}
