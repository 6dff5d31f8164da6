//go:build unix

package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// atOnce is less than redislock waits for a server that hangs, unless it has a reason to end sooner. It is counted as a
// Stopwatch does.
const atOnce = 8 * time.Second

// hangingPlace is a place whose server can be paused. Its connections have patience without end.
func hangingPlace(t *testing.T) (*place, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	return placeAt(t, server.Addr()+"/0?read_timeout=1h", server.Client(t)), server
}

// signalUntilEnd sends SIGTERM again and again, as somebody does who has no patience, and returns how often.
func (p *process) signalUntilEnd(t *testing.T) (sent int) {
	t.Helper()
	watch := check.StartWatch(t)
	for ended := false; !ended && sent < 200; sent++ {
		_ = p.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.ended:
			ended = true
		case <-time.After(300 * time.Millisecond):
		}
	}
	if took := watch.Took(); took > atOnce {
		t.Errorf("it has ended after %v, and %d signals", took, sent)
	}
	return sent
}

// At a server that hangs redislock ends with the lease, which frees the keys as well.
func TestRunServerHangs(t *testing.T) {
	t.Parallel()
	for name, endsItself := range map[string]bool{"the command has ended": true, "the lease is over": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, server := hangingPlace(t)
			c := p.shell("echo >$D/in; cat >/dev/null", "--ttl", "2s", "--grace", "100ms").piped(t)
			p.written("in")
			server.Pause()
			watch := check.StartWatch(t)
			if endsItself {
				c.letEnd(t)
			}
			if status := c.status(t); !endsItself && status != 79 {
				t.Errorf("exit status %d, want 79; stderr: %s", status, &c.stderr)
			}
			if took := watch.Took(); took > atOnce {
				t.Errorf("it has ended after %v", took)
			}
		})
	}
}

// Nobody has to wait for a server that hangs: the second signal ends redislock. The first has ended the command, perhaps.
func TestRunServerHangsSignals(t *testing.T) {
	t.Parallel()
	t.Run("the command has ended", func(t *testing.T) {
		t.Parallel()
		p, server := hangingPlace(t)
		c := p.shell("echo $PPID >$D/supervisor; cat >/dev/null; exit 3", "--ttl", "10m").piped(t)
		supervisor := p.pid("supervisor")
		server.Pause()
		c.letEnd(t)
		wantGone(t, supervisor)
		if sent := c.signalUntilEnd(t); sent < 2 {
			t.Error("the first signal has ended it")
		}
		c.want(t, 3, "the keys stay locked until the lease ends")
	})
	t.Run("a signal has ended the command", func(t *testing.T) {
		t.Parallel()
		p, server := hangingPlace(t)
		c := p.shell("echo $PPID >$D/supervisor; exec sleep 600", "--ttl", "10m").start(t)
		supervisor := p.pid("supervisor")
		server.Pause()
		check.NoError(t, c.Process.Signal(syscall.SIGTERM))
		wantGone(t, supervisor)
		c.signalUntilEnd(t)
		c.want(t, 143, "the keys stay locked until the lease ends")
		if strings.Contains(c.stderr.String(), "one more signal") {
			t.Errorf("it waits for a third signal: %s", &c.stderr)
		}
	})
	t.Run("it waits for the lock", func(t *testing.T) {
		t.Parallel()
		p, server := hangingPlace(t)
		holder := p.shell("echo >$D/in; cat >/dev/null", "--ttl", "10m").piped(t)
		p.written("in")
		waiter := p.shell("true", "--ttl", "10m").start(t)
		check.Eventually(t, soon, "that it stands in line", func() bool { return len(p.state().Line) == 1 })
		server.Pause()
		waiter.signalUntilEnd(t)
		waiter.want(t, 143, "the command was not run")
		holder.letEnd(t)
		holder.signalUntilEnd(t)
	})
}

// A supervisor that was stopped alone has not heard of the renewals. It reads them before it ends the command of a lease
// which is over by the last that it knows.
func TestRunSupervisorPaused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, say, hear := supervised(t, "echo $PPID >"+dir+"/supervisor; cat >/dev/null; exit 3")
	tell := func(text string) {
		_, err := say.WriteString(text + "\n")
		check.NoError(t, err)
	}
	tell(`{"Say":"deadline","Deadline":9000000000000000000,"Left":600000000000}`)
	c.piped(t)
	answer := func() string { return check.Must[string](t)(hear.ReadString('\n')) }
	if text := answer(); !strings.Contains(text, `"started"`) {
		t.Fatalf("the supervisor says %s", text)
	}
	check.NoError(t, c.Process.Signal(syscall.SIGSTOP))
	check.Eventually(t, soon, "that the supervisor is stopped", func() bool { return isStopped(c.Process.Pid) })
	for range 100 {
		tell(`{"Say":"deadline","Deadline":1,"Left":-1000000}`)
	}
	tell(`{"Say":"deadline","Deadline":9000000000000000000,"Left":600000000000}`)
	check.NoError(t, c.Process.Signal(syscall.SIGCONT))
	c.letEnd(t)
	if text := answer(); !strings.Contains(text, `"ended"`) || !strings.Contains(text, `"Status":3`) {
		t.Errorf("the supervisor says %s", text)
	}
}

// A supervisor that begins late knows all that was said meanwhile, before it starts the command or does not.
func TestRunSupervisorBeginsLate(t *testing.T) {
	t.Parallel()
	const over, good = `{"Say":"deadline","Deadline":1,"Left":-1}`, `{"Say":"deadline","Deadline":9000000000000000000,"Left":600000000000}`
	for name, test := range map[string]struct {
		told string
		want []string // what it says then, in this order
	}{
		"the lease was extended": {over + "\n" + good, []string{`"started"`, `"Status":3`}},
		"the lease is over":      {good + "\n" + over, []string{"the lease ended before"}},
		"the lock is lost":       {good + "\n" + `{"Say":"lost"}`, []string{"the lock was lost before"}},
		"a signal has come":      {good + "\n" + `{"Say":"signal","Signal":15}`, []string{`"started"`, `"Signal":15`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, say, hear := supervised(t, "cat >/dev/null; exit 3")
			check.Must[int](t)(say.WriteString(test.told + "\n"))
			c.piped(t)
			for _, want := range test.want {
				if text := check.Must[string](t)(hear.ReadString('\n')); !strings.Contains(text, want) {
					t.Fatalf("it says %s, want %s", text, want)
				}
				if name != "a signal has come" {
					_ = c.stdin.Close()
				}
			}
		})
	}
}

// supervised prepares a supervisor of a shell script, with the pipes that redislock has to it.
func supervised(t *testing.T, script string) (c *process, say *os.File, hear *bufio.Reader) {
	t.Helper()
	c = newProcess(t, "run-supervisor", "--in", "3", "--out", "4", "--ttl", "10s", "--grace", "2s", "--", "/bin/sh", "sh", "-c", script)
	theirIn, out, err := os.Pipe()
	check.NoError(t, err)
	in, theirOut, err := os.Pipe()
	check.NoError(t, err)
	t.Cleanup(func() { _, _, _, _ = in.Close(), out.Close(), theirIn.Close(), theirOut.Close() })
	c.ExtraFiles = []*os.File{theirIn, theirOut}
	return c, out, bufio.NewReader(in)
}

// isStopped reports whether a process was stopped by a signal.
func isStopped(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true // there is no /proc, and the signal is as good as there
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "T")
}
