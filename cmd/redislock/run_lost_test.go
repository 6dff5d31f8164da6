//go:build unix

package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// family is a command with a grandchild that writes the time again and again; neither heeds SIGTERM. The supervisor is
// the parent of the command.
const family = `trap '' TERM; sh -c 'echo $$ >$D/grandchild; while :; do date +%s%N >>$D/work; sleep 0.01; done' &
	echo $PPID >$D/supervisor; echo $$ >$D/command; wait`

// startFamily starts a family under the lock, and the next one in line, which writes when it begins.
func (p *place) startFamily(flags ...string) (first, next *process) {
	p.t.Helper()
	first = p.shell(family, flags...).start(p.t)
	p.pid("command")
	p.written("work")
	next = p.shell("date +%s%N >$D/next").start(p.t)
	check.Eventually(p.t, soon, "that the next one stands in line", func() bool { return p.waiting() == 1 })
	return first, next
}

// wantOneAfterTheOther checks that nobody of the family was at work when the next one began, and that all are gone.
func (p *place) wantOneAfterTheOther(next *process) {
	p.t.Helper()
	next.want(p.t, 0)
	lines := strings.Fields(p.text("work"))
	last := check.Must[int64](p.t)(strconv.ParseInt(lines[len(lines)-1], 10, 64))
	began := check.Must[int64](p.t)(strconv.ParseInt(p.written("next"), 10, 64))
	if over := time.Duration(last - began); over > 0 {
		p.t.Errorf("the command was at work %v after the next one had begun", over)
	}
	for _, name := range []string{"command", "grandchild", "supervisor"} {
		wantGone(p.t, p.pid(name))
	}
	p.wantFree()
}

func TestRunKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, next := p.startFamily("--ttl", "6s")
	check.NoError(t, first.Process.Kill())
	p.wantOneAfterTheOther(next)
	first.want(t, -1, "redislock is gone")
}

// The kill -9 of a shell job goes to the whole process group of redislock.
func TestRunJobKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.shell(family, "--ttl", "6s")
	first.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	first.start(t)
	p.written("work")
	p.pid("command")
	check.NoError(t, syscall.Kill(-first.Process.Pid, syscall.SIGKILL))
	next := p.shell("date +%s%N >$D/next").start(t)
	p.wantOneAfterTheOther(next)
}

func TestRunPaused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, next := p.startFamily("--ttl", "6s")
	check.NoError(t, first.Process.Signal(syscall.SIGSTOP))
	p.wantOneAfterTheOther(next)
	check.NoError(t, first.Process.Signal(syscall.SIGCONT))
	first.want(t, 79, "the command is ended: ")
}

func TestRunSupervisorKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, next := p.startFamily()
	check.NoError(t, syscall.Kill(p.pid("supervisor"), syscall.SIGKILL))
	p.wantOneAfterTheOther(next)
	first.want(t, 137, "the supervisor of the command is gone")
}

// A supervisor that does not move is no supervisor: redislock ends it when the lock is lost, and the command with it.
func TestRunSupervisorStopped(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.shell(family, "--ttl", "6s", "--grace", "0s").start(t)
	p.written("work")
	supervisor := p.pid("supervisor")
	check.NoError(t, syscall.Kill(supervisor, syscall.SIGSTOP))
	check.NoError(t, p.rdb.Del(t.Context(), p.key).Err())
	first.want(t, 79, "the command is ended: lock lost")
	for _, pid := range []int{p.pid("command"), p.pid("grandchild"), supervisor} {
		wantGone(t, pid)
	}
}

// A command that does not heed SIGTERM is killed after the grace, long before the lease ends.
func TestRunGrace(t *testing.T) {
	t.Parallel()
	p := newOwnPlace(t)
	c := p.shell(family, "--ttl", "10m", "--grace", "200ms").start(t)
	p.written("work")
	p.breakLock("")
	c.want(t, 79)
	wantGone(t, p.pid("command"))
	wantGone(t, p.pid("grandchild"))
}

// If no renewal gets through the command ends with its lease.
func TestRunServerGone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	p := placeAt(t, server.Addr(), server.Client(t))
	c := p.shell(family, "--ttl", "6s").start(t)
	p.written("work")
	server.Kill()
	c.want(t, 79, "the command is ended: ", "connection refused")
	for _, name := range []string{"command", "grandchild", "supervisor"} {
		wantGone(t, p.pid(name))
	}
}

// If the keys cannot be freed that is said; the exit status is that of the command.
func TestRunCannotRelease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	p := placeAt(t, server.Addr(), server.Client(t))
	c := p.shell("echo >$D/in; cat >/dev/null; exit 3", "--ttl", "10m").piped(t)
	p.written("in")
	server.Kill()
	c.letEnd(t)
	c.want(t, 3, "the keys stay locked until the lease ends")
}
