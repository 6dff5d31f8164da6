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

// What was paused for less than its lease goes on as if nothing had been.
func TestRunPausedShortly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("echo >$D/in; cat >/dev/null; exit 3", "--ttl", "10m").piped(t)
	p.written("in")
	check.NoError(t, c.Process.Signal(syscall.SIGSTOP))
	c.letEnd(t)
	check.NoError(t, c.Process.Signal(syscall.SIGCONT))
	c.want(t, 3)
	p.wantFree()
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

func TestRunCommandKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("echo $$ >$D/command; exec sleep 600").start(t)
	check.NoError(t, syscall.Kill(p.pid("command"), syscall.SIGKILL))
	c.want(t, 137)
	p.wantFree()
}

// The keys stay locked as long as any process of the group runs.
func TestRunOthersOfTheGroup(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("(read _ <$D/fifo; date +%s%N >$D/work) & exit 5")
	check.NoError(t, syscall.Mkfifo(p.dir+"/fifo", 0o600))
	c.start(t)
	check.Eventually(t, soon, "that redislock says for whom it waits", func() bool {
		return strings.Contains(c.stderr.String(), "others of its process group")
	})
	if p.holders() != 1 {
		t.Error("nobody holds the key")
	}
	p.shell("true", "--no-wait").start(t).want(t, 75)
	go func() { // it waits for whoever reads
		if fd, err := syscall.Open(p.dir+"/fifo", syscall.O_WRONLY, 0); err == nil {
			_, _ = syscall.Write(fd, []byte("\n"))
			_ = syscall.Close(fd)
		}
	}()
	c.want(t, 5)
	if p.text("work") == "" {
		t.Error("redislock has ended before the group")
	}
	p.wantFree()
}

func TestRunLockDeleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell(`trap 'echo >$D/asked; exit 0' TERM; echo >$D/in; while :; do sleep 0.01; done`, "--ttl", "6s").start(t)
	p.written("in")
	check.NoError(t, p.rdb.Del(t.Context(), p.key).Err())
	c.want(t, 79, "lock lost", "the command is ended")
	if p.text("asked") == "" {
		t.Error("the command got no SIGTERM")
	}
}

func TestRunLockBroken(t *testing.T) {
	t.Parallel()
	p := newOwnPlace(t)
	c := p.shell(`trap 'echo >$D/asked; exit 0' TERM; echo >$D/in; while :; do sleep 0.01; done`, "--ttl", "10m").start(t)
	p.written("in")
	p.breakLock("host is to be replaced")
	c.want(t, 79, "was broken: host is to be replaced")
	if p.text("asked") == "" {
		t.Error("the command got no SIGTERM")
	}
}

// A loss that is found out when the command has ended by itself is told, too.
func TestRunLostUnseen(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("echo >$D/in; cat >/dev/null", "--ttl", "10m").piped(t)
	p.written("in")
	check.NoError(t, p.rdb.Del(t.Context(), p.key).Err())
	c.letEnd(t)
	c.want(t, 79, "the lock was lost while the command ran")
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

// A signal that comes while redislock waits takes it out of the line.
func TestRunSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			holder := p.shell("echo >$D/in; cat >/dev/null").piped(t)
			p.written("in")
			waiter := p.shell("echo >$D/twice").start(t)
			check.Eventually(t, soon, "that it stands in line", func() bool { return p.waiting() == 1 })
			check.NoError(t, waiter.Process.Signal(sig))
			waiter.want(t, 128+int(sig), "the command was not run")
			if n := p.waiting(); n != 0 {
				t.Errorf("%d stand in line, want nobody", n)
			}
			holder.letEnd(t)
			holder.want(t, 0)
			if p.text("twice") != "" {
				t.Error("the command was run")
			}
			p.wantFree()
		})
	}
}

// A signal reaches every process of the group, once.
func TestRunSignalPassedOn(t *testing.T) {
	t.Parallel()
	for _, sig := range []string{"TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "WINCH"} {
		t.Run(sig, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c := p.shell(`trap 'echo got >>$D/signals' ` + sig + `; echo >$D/in; until test -e $D/end; do sleep 0.01; done; exit 4`).start(t)
			p.written("in")
			check.NoError(t, c.Process.Signal(signalOf[sig]))
			p.written("signals")
			check.NoError(t, touch(p.dir+"/end"))
			c.want(t, 4)
			if got := p.text("signals"); got != "got\n" {
				t.Errorf("the command got %q, want one signal", got)
			}
			p.wantFree()
		})
	}
}

var signalOf = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
	"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH,
}

func touch(path string) error {
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return syscall.Close(fd)
}
