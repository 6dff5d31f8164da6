//go:build unix

package run

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// passed are the signals that redislock passes on to the command. A terminal sends them to one group alone: to that of
// the command if it has the terminal, and otherwise to that of redislock. So the command gets each of them once.
var passed = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// catch begins to hear of signals. One that redislock was started to ignore stays ignored, by the command, too.
func catch() <-chan os.Signal {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, append(heeded(), syscall.SIGPIPE)...)
	return signals
}

func heeded() []os.Signal {
	return slices.DeleteFunc(slices.Clone(passed), signal.Ignored)
}

// endsProcess returns the number of a signal that ends a process which waits for its lock, else 0.
func endsProcess(sig os.Signal) int {
	switch sig {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return int(sig.(syscall.Signal))
	}
	return 0
}

// settle is called when this process starts no others any more, who would ignore what it does. From then on it may write
// to a terminal in the background.
func settle() { signal.Ignore(syscall.SIGTTOU) }

// shield keeps signals from a supervisor that somebody has sent to it. Those whom it starts do not ignore them.
func shield() {
	signal.Notify(make(chan os.Signal, 1), append(heeded(), syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN)...)
}

// ignoreAll is called when the supervisor starts nobody any more.
func ignoreAll() {
	signal.Ignore(append(slices.Clone(passed), syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)...)
}

// jobControl begins to hear of the signals of a shell with jobs.
func (s *session) jobControl() <-chan os.Signal {
	signals := make(chan os.Signal, 16)
	if s.terminal != nil {
		signal.Notify(signals, syscall.SIGTSTP, syscall.SIGCONT)
	}
	return signals
}

// pass passes a signal on to the command.
func (s *session) pass(sig os.Signal) {
	switch sig {
	case syscall.SIGPIPE:
	case syscall.SIGCONT:
		s.resume()
	default:
		s.say(message{Say: saySignal, Signal: int(sig.(syscall.Signal))})
	}
}

// stopped takes in that the command was stopped. One that wants the terminal gets it if it is ours. Otherwise the shell
// has to learn of it: redislock stops, too, until the shell has it go on.
func (s *session) stopped(number int) {
	sig, fg := syscall.Signal(number), s.terminal.foreground()
	wantsTerminal := sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
	switch {
	case fg == 0, sig != syscall.SIGTSTP && !wantsTerminal:
	case wantsTerminal && (fg == s.terminal.own || fg == s.group):
		s.terminal.give(s.terminal.own, s.group)
		s.foreground = true
		s.say(message{Say: saySignal, Signal: int(syscall.SIGCONT)})
	case !hasShell():
		s.resume() // nobody would
	default:
		whom := os.Getpid()
		if s.terminal.give(s.group, s.terminal.own) {
			whom = 0 // the others of our group, whom the terminal has not asked to stop
		}
		_ = syscall.Kill(whom, syscall.SIGSTOP)
	}
}

// resume has a command that was stopped go on. If the shell has brought redislock to the foreground it gets the terminal.
func (s *session) resume() {
	if s.foreground {
		s.terminal.give(s.terminal.own, s.group)
	}
	s.say(message{Say: saySignal, Signal: int(syscall.SIGCONT)})
}

// hasShell reports whether somebody can have this process go on when it was stopped: a parent in the same session.
func hasShell() bool {
	return sessionOf(os.Getppid()) == sessionOf(0)
}

func sessionOf(pid int) int {
	id, err := unix.Getsid(pid)
	if err != nil {
		return -1 - pid
	}
	return id
}

// dieAlike ends redislock by the signal of Ctrl-C if that has ended the command, and sends it to the other processes of
// the group: the terminal has sent it to the command alone, and a shell script has to end as well.
func (s *session) dieAlike() {
	if !s.fromTTY || s.killed != int(syscall.SIGINT) {
		return
	}
	signal.Reset(syscall.SIGINT)
	_ = syscall.Kill(0, syscall.SIGINT)
	time.Sleep(time.Second) // until it has arrived
}
