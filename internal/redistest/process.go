package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// roleEnv names the role in the environment of a child.
const roleEnv = "REDISTEST_ROLE"

// mainRuns is set by Main. Without it a child would not know its role and run the
// tests, which start children.
var mainRuns atomic.Bool

// roles are what children can do, by name.
var roles sync.Map

// RegisterRole says what a child started with this name does, given the arguments
// of [StartRole]. Call it from an init function or before [Main]. When fn returns
// the child exits with 0.
func RegisterRole(name string, fn func(args []string)) {
	if _, twice := roles.LoadOrStore(name, fn); twice {
		panic("redistest: role registered twice: " + name)
	}
}

// playRole is the whole life of a child; it returns its exit code.
func playRole(name string, args []string) int {
	fn, ok := roles.Load(name)
	if !ok {
		fmt.Fprintf(os.Stderr, "redistest: no role %q\n", name)
		return 2
	}
	fn.(func([]string))(args)
	return 0
}

// Process is a child that plays a role: this test binary, run once more. It is
// killed when its test ends. Its methods are safe for concurrent use, except that
// one goroutine at a time may read lines.
type Process struct {
	tb     testing.TB
	child  *child
	stdout *lineWriter
}

// StartRole runs the role name in a process of its own for the time of the test.
// The test package must have registered the role and its TestMain call [Main].
// What the child writes to its stderr goes to the test's log if the test fails.
func StartRole(tb testing.TB, name string, args ...string) *Process {
	tb.Helper()
	if _, ok := roles.Load(name); !ok {
		tb.Fatalf("redistest: role %q is not registered", name)
	}
	if !mainRuns.Load() {
		tb.Fatal("redistest: StartRole needs a TestMain that calls redistest.Main")
	}
	self, err := os.Executable()
	if err != nil {
		tb.Fatalf("redistest: start role %q: %v", name, err)
	}
	p := &Process{tb: tb, stdout: &lineWriter{lines: newQueue[string]()}}
	var stderr bytes.Buffer // os/exec's until the process is gone
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+name)
	cmd.Stdout, cmd.Stderr = p.stdout, &stderr
	if p.child, err = startChild(cmd, p.stdout.close); err != nil {
		tb.Fatalf("redistest: start role %q: %v", name, err)
	}
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() && stderr.Len() > 0 {
			tb.Logf("stderr of role %q:\n%s", name, stderr.Bytes())
		}
	})
	return p
}

// Rerun runs this test binary once more, with the flags args and with env on top
// of the environment, and returns what it wrote to stdout and stderr, and an
// [*exec.ExitError] if its exit code is not 0. It is killed if the test is over.
func Rerun(tb testing.TB, env []string, args ...string) ([]byte, error) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("redistest: run the tests again: %w", err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer // os/exec's until the process is gone
	cmd.Stdout, cmd.Stderr = &out, &out
	child, err := startChild(cmd, nil)
	if err != nil {
		return nil, fmt.Errorf("redistest: run the tests again: %w", err)
	}
	select {
	case <-child.gone:
	case <-tb.Context().Done():
		child.kill()
	}
	return out.Bytes(), child.err
}

// PID is the process id, also after the end of the process.
func (p *Process) PID() int { return p.child.pid() }

// ReadLine returns the next line of the child's standard output, without its end.
// It waits for one until timeout and then answers [os.ErrDeadlineExceeded]; when
// the child has ended and all lines are read, [io.EOF].
func (p *Process) ReadLine(timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	line, ok := p.stdout.lines.next(ctx.Done())
	switch {
	case ok:
		return line, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("redistest: no line within %v: %w", timeout, os.ErrDeadlineExceeded)
	default:
		return "", io.EOF
	}
}

// Pause stops the child with SIGSTOP and returns when it stands still. If that
// cannot be done the test fails, without ending.
func (p *Process) Pause() { p.must(p.child.pause()) }

// Resume lets the child go on. If that cannot be done the test fails, without
// ending.
func (p *Process) Resume() { p.must(p.child.resume()) }

// Signal sends the child a signal, such as SIGTERM. A child that has ended gets
// none.
func (p *Process) Signal(sig os.Signal) {
	if err := p.child.cmd.Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		p.must(err)
	}
}

// Kill ends the child with SIGKILL, paused or not, and returns when it is gone.
// It may be called more than once.
func (p *Process) Kill() { p.child.kill() }

// Wait returns when the child has ended: nil if it exited with 0, else an
// [*exec.ExitError]. It may be called more than once.
func (p *Process) Wait() error {
	<-p.child.gone
	return p.child.err
}

func (p *Process) must(err error) {
	if err != nil {
		p.tb.Helper()
		p.tb.Error(err)
	}
}

// lineWriter cuts what is written to it into lines. os/exec writes from one
// goroutine, which has ended when close is called.
type lineWriter struct {
	lines *queue[string]
	rest  []byte // behind the last line's end
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		w.lines.put(string(line))
		w.rest = rest
	}
}

// close hands out an unfinished last line, too.
func (w *lineWriter) close() {
	if len(w.rest) > 0 {
		w.lines.put(string(w.rest))
	}
	w.lines.close()
}
