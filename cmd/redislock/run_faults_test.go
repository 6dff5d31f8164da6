//go:build unix

package main

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-14de3678/redislock/internal/check"
)

// These tests are named after faults that consul lock and etcdctl lock have, or had; docs/beside.md compares. Other tests
// here guard against more of them: TestRunKilled, TestRunPaused, TestRunServerGone (consul 9788).

// Consul 2022, 873: when the lock was lost the shell was ended, and what it had started went on.
func TestFaultChildOutlivesLock(t *testing.T) {
	t.Parallel()
	p := newOwnPlace(t)
	c := p.shell("sleep 600 & echo $! >$D/child; wait", "--ttl", "10m").start(t)
	child := p.pid("child")
	p.breakLock("")
	c.want(t, 79)
	if isAlive(child) {
		t.Error("the child of the command has outlived redislock")
	}
}

// Consul 797, 1210, 2489, 3754: a signal ended the tool or was swallowed, the lock was free, and the command went on.
func TestFaultChildOutlivesSignal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"} {
		sig := unix.SignalNum("SIG" + name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c := p.shell("sh -c 'echo $$ >$D/child; exec sleep 600'; exit 9").start(t)
			child := p.pid("child")
			check.NoError(t, c.Process.Signal(sig))
			c.want(t, 128+int(sig))
			if isAlive(child) {
				t.Error("the child of the command has outlived redislock")
			}
			p.wantFree()
		})
	}
}

// Consul 9788: with no connection the command was ended 90 s after somebody else had the lock. Here it is the supervisor
// that ends it, whatever redislock waits for.
func TestFaultEndedTooLate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, next := p.startFamily("--ttl", "6s", "--grace", "10m")
	check.NoError(t, first.Process.Signal(syscall.SIGSTOP))
	p.wantOneAfterTheOther(next)
	check.NoError(t, first.Process.Signal(syscall.SIGCONT))
	first.want(t, 79)
}
