//go:build unix

package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed-14de3678/redislock/internal/check"
)

// The commands of a script for what runs beside it:
//
//	start ARG...          starts the tool; what it says goes to the file said, too
//	signal NAME [FILE]    sends a signal to it, or to the process whose id is in a file
//	ends STATUS [TEXT...] waits until it has ended, with this status, and has said this
//	heard                 waits until somebody hears of a Break
func init() {
	commands["start"] = func(s *script, args []string) {
		p := s.process(args)
		said := check.Must[*os.File](s.t)(os.Create(s.MkAbs("said")))
		s.t.Cleanup(func() { said.Close() })
		p.Stderr = io.MultiWriter(&p.stderr, said)
		*s.started() = p.start(s.t)
	}
	commands["signal"] = func(s *script, args []string) {
		pid := (*s.started()).Process.Pid
		if len(args) == 2 {
			pid = check.Must[int](s.t)(strconv.Atoi(strings.TrimSpace(s.ReadFile(args[1]))))
		}
		s.Check(syscall.Kill(pid, unix.SignalNum("SIG"+args[0])))
	}
	commands["ends"] = func(s *script, args []string) {
		(*s.started()).want(s.t, check.Must[int](s.t)(strconv.Atoi(args[0])), args[1:]...)
	}
	commands["heard"] = func(s *script, _ []string) {
		check.Eventually(s.t, soon, "somebody hears", func() bool { return hears(s.t, s.crowd().rdb) })
	}
}
