package redistest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func init() {
	redistest.RegisterRole("echo", func(args []string) {
		fmt.Printf("%d\n%s\n", os.Getpid(), strings.Join(args, "|"))
		fmt.Print("no end of line")
		if len(args) > 0 && args[0] == "-fail" {
			os.Exit(3)
		}
	})
	redistest.RegisterRole("ticks", func([]string) {
		for i := 0; ; i++ {
			fmt.Println(i)
			time.Sleep(5 * time.Millisecond)
		}
	})
}

func TestRoleOutput(t *testing.T) {
	t.Parallel()
	p := redistest.StartRole(t, "echo", "-fail", "b c", "")
	for _, want := range []string{fmt.Sprint(p.PID()), "-fail|b c|", "no end of line"} {
		if got, err := p.ReadLine(20 * time.Second); got != want || err != nil {
			t.Errorf("got line %q, %v; want %q", got, err, want)
		}
	}
	if _, err := p.ReadLine(20 * time.Second); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: got %v, want EOF", err)
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("got %v, want exit code 3", err)
	}
	if err := redistest.StartRole(t, "echo").Wait(); err != nil {
		t.Errorf("a role that returns: %v", err)
	}
}

func TestRoleSignal(t *testing.T) {
	t.Parallel()
	p := redistest.StartRole(t, "ticks")
	p.Signal(syscall.SIGTERM)
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("got %v, want an end by SIGTERM", err)
	}
	p.Signal(syscall.SIGTERM) // nobody is there
}

func TestRolePause(t *testing.T) {
	t.Parallel()
	p := redistest.StartRole(t, "ticks")
	if _, err := p.ReadLine(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	p.Pause()
	// What it had written before it stopped may still come; then nothing.
	for {
		if _, err := p.ReadLine(200 * time.Millisecond); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			break
		}
	}
	p.Resume()
	if _, err := p.ReadLine(20 * time.Second); err != nil {
		t.Error("after Resume:", err)
	}
	p.Pause()
	p.Kill()
	p.Kill()
	if err := p.Wait(); err == nil {
		t.Error("killed, but Wait returns nil")
	}
}
