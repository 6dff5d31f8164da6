package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
)

// soon is how long anything may take on a busy machine.
const soon = 40 * time.Second

// A process is the tool as a process of its own.
type process struct {
	*exec.Cmd
	stdout, stderr written
	ended          chan struct{} // closed when it was waited for
	stdin          io.Closer     // of piped
}

// written is what a process has written so far.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// newProcess prepares the tool with these arguments: this test binary, which becomes the tool. Environment variables
// that a user may have set are left out.
func newProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(check.Must[string](t)(os.Executable()), args...), ended: make(chan struct{})}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !strings.HasPrefix(name, "REDISLOCK_") && name != "NO_COLOR" {
			p.Env = append(p.Env, variable)
		}
	}
	p.Env = append(p.Env, asTool+"=1")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	return p
}

// start starts it, and kills it at the end of the test if it still runs.
func (p *process) start(t *testing.T) *process {
	t.Helper()
	p.WaitDelay = 5 * time.Second // for those who have inherited its output
	check.NoError(t, p.Start())
	go func() {
		defer close(p.ended)
		_ = p.Wait() // the status is in ProcessState
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
	})
	return p
}

// status waits until it has ended, and returns the exit status; -1 if a signal has ended it.
func (p *process) status(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("a minute is over"))
	defer cancel()
	select {
	case <-p.ended:
		return p.ProcessState.ExitCode()
	case <-ctx.Done():
		t.Fatalf("%v does not end: %v\n%s%s", p.Args[1:], context.Cause(ctx), &p.stdout, &p.stderr)
		return 0
	}
}

// want compares the exit status, and looks for texts in stderr.
func (p *process) want(t *testing.T, status int, texts ...string) {
	t.Helper()
	if got := p.status(t); got != status {
		t.Errorf("exit status %d, want %d\nstdout: %s\nstderr: %s", got, status, &p.stdout, &p.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(p.stderr.String(), text) {
			t.Errorf("stderr is %q, want %q in it", &p.stderr, text)
		}
	}
}

// runTool runs the tool to its end, and returns its output and the exit status.
func runTool(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	p := newProcess(t, args...).start(t)
	status = p.status(t)
	return p.stdout.String(), p.stderr.String(), status
}

// piped starts it with a pipe for its input, which letEnd closes.
func (p *process) piped(t *testing.T) *process {
	t.Helper()
	p.stdin = check.Must[io.WriteCloser](t)(p.StdinPipe())
	return p.start(t)
}

func (p *process) letEnd(t *testing.T) {
	t.Helper()
	check.NoError(t, p.stdin.Close())
}
