//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-14de3678/redislock/internal/check"
)

// The commands of a script for what runs beside it:
//
//	start [FLAG] ARG...   starts the tool as process $PID; what it writes goes to the file out, and what it says to said; with -job
//	                      it has a process group of its own, and with -stuck nobody reads what it says
//	signal NAME [FILE]    sends a signal to it, or to the process whose id is in a file
//	ends STATUS [TEXT...] waits until it has ended, with this status or by this signal, and has said this
//	gone FILE...          waits until the processes whose ids are in files have ended
//	dead FILE...          finds that they have ended
//	heard                 waits until somebody hears of a Break
func init() {
	commands["start"] = func(s *script, args []string) {
		isJob, isStuck := args[0] == "-job", args[0] == "-stuck"
		if isJob || isStuck {
			args = args[1:]
		}
		p := s.process(args)
		p.Stdout, p.Stderr = io.MultiWriter(&p.stdout, s.file("out")), io.MultiWriter(&p.stderr, s.file("said"))
		p.SysProcAttr = &syscall.SysProcAttr{Setpgid: isJob}
		if isStuck {
			p.Stderr = fullPipe(s.t)
		}
		s.started = p.start(s.t)
		s.Setenv("PID", strconv.Itoa(p.Process.Pid))
	}
	commands["signal"] = func(s *script, args []string) {
		pid := s.started.Process.Pid
		if len(args) == 2 {
			pid = s.pid(args[1])
		}
		s.Check(syscall.Kill(pid, unix.SignalNum("SIG"+args[0])))
	}
	commands["gone"] = func(s *script, args []string) {
		for _, file := range args {
			wantGone(s.t, s.pid(file))
		}
	}
	commands["dead"] = func(s *script, args []string) {
		for _, file := range args {
			if isAlive(s.pid(file)) {
				s.Fatalf("the process of %s lives", file)
			}
		}
	}
	commands["ends"] = func(s *script, args []string) {
		status, err := strconv.Atoi(args[0])
		if err != nil {
			status = 128 + int(unix.SignalNum("SIG"+args[0]))
		}
		s.started.want(s.t, status, args[1:]...)
	}
	commands["heard"] = func(s *script, _ []string) {
		check.Eventually(s.t, soon, "somebody hears", func() bool { return hears(s.t, s.crowd.rdb) })
	}
}

// pid is that in a file.
func (s *script) pid(file string) int {
	return check.Must[int](s.t)(strconv.Atoi(strings.TrimSpace(s.ReadFile(file))))
}

// file creates a file that is open until the test ends.
func (s *script) file(name string) *os.File {
	f := check.Must[*os.File](s.t)(os.Create(s.MkAbs(name)))
	s.t.Cleanup(func() { f.Close() })
	return f
}

// fullPipe returns a pipe that has no room, and whose reader does not read: a pager that waits for a key.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	ends := [2]int{}
	check.NoError(t, syscall.Pipe(ends[:]))
	for _, end := range ends {
		syscall.CloseOnExec(end)
	}
	check.NoError(t, syscall.SetNonblock(ends[1], true))
	for size := 1 << 12; size > 0; {
		switch _, err := syscall.Write(ends[1], make([]byte, size)); {
		case errors.Is(err, syscall.EAGAIN):
			size /= 2
		default:
			check.NoError(t, err)
		}
	}
	check.NoError(t, syscall.SetNonblock(ends[1], false))
	in, out := os.NewFile(uintptr(ends[0]), "pipe"), os.NewFile(uintptr(ends[1]), "pipe")
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	return out
}
