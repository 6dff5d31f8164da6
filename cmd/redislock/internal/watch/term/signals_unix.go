//go:build unix

package term

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Supported says that this system has what a screen needs.
const Supported = true

// sendSignal does what the terminal does by itself in its other mode: it sends the signal of a key to the processes in the
// foreground. It reports whether the key has one.
func sendSignal(key string) bool {
	sig, has := map[string]syscall.Signal{"\x03": syscall.SIGINT, "\x1c": syscall.SIGQUIT, "\x1a": syscall.SIGTSTP}[key]
	return has && syscall.Kill(0, sig) == nil
}

// Listen begins to hear of the signals that [Terminal.Heed] is for.
func Listen() <-chan os.Signal {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGHUP, syscall.SIGQUIT)
	return signals
}

// Heed does what a signal asks for; an error ends the program. Everything is to be drawn then: the terminal may have another
// size, or have shown something else meanwhile.
//
// Ctrl-Z gives the terminal back and stops the process, as it does with others; SIGCONT takes it again. Where no shell could let
// the process go on it is not stopped, as the system has it for processes that do not ask for the signal.
func (t *Terminal) Heed(sig os.Signal) error {
	switch {
	case sig == syscall.SIGHUP || sig == syscall.SIGQUIT:
		return cli.Exit(cli.Interrupted, errors.New("ended by a signal"))
	case sig == syscall.SIGCONT:
		return t.Enter()
	case sig == syscall.SIGTSTP && hasShell():
		if err := t.Leave(); err != nil {
			return err
		}
		// Go has no way back to what SIGTSTP does by itself.
		return syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
	return nil
}

// hasShell reports whether the process belongs to a job of a shell: to another group than the first process of the session.
func hasShell() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != syscall.Getpgrp()
}
