//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package term

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Signals are what a process with a screen has to hear of.
type Signals struct {
	Resized chan os.Signal // the terminal has another size
	stop    chan os.Signal // Ctrl-Z
	resume  chan os.Signal // the process goes on
}

// Listen begins to hear of signals.
func Listen() *Signals {
	s := &Signals{make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan os.Signal, 1)}
	signal.Notify(s.Resized, syscall.SIGWINCH)
	signal.Notify(s.stop, syscall.SIGTSTP)
	signal.Notify(s.resume, syscall.SIGCONT)
	return s
}

// Stop ends it.
func (s *Signals) Stop() {
	signal.Stop(s.Resized)
	signal.Stop(s.stop)
	signal.Stop(s.resume)
}

// Stopped has a value when the process is to be stopped: see [Terminal.Suspend].
func (s *Signals) Stopped() <-chan os.Signal { return s.stop }

// Resumed has a value when the process goes on: the terminal may be in any state.
func (s *Signals) Resumed() <-chan os.Signal { return s.resume }

// Suspend gives the terminal back and stops the process, as Ctrl-Z does with others. It returns when the process goes on. Where no
// shell could let it go on it is not stopped, as the system has it for processes that do not ask for the signal.
func (t *Terminal) Suspend(s *Signals) error {
	if !hasShell() {
		return nil
	}
	if err := t.Leave(); err != nil {
		return err
	}
	select {
	case <-s.resume: // of an earlier stop
	default:
	}
	// Go has no way back to what SIGTSTP does by itself.
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	select {
	case <-s.resume:
	case <-time.After(time.Second): // it was stopped and goes on, or this is the moment before it is
	}
	t.mu.Lock()
	t.saved = nil // the user may have changed it
	t.mu.Unlock()
	return t.Enter()
}

// hasShell reports whether the process belongs to a job of a shell: to another group than the first process of the session.
func hasShell() bool {
	session, _, number := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	return number == 0 && int(session) != syscall.Getpgrp()
}

// Ends returns a context that ends with the signals that end a process, beside those that everybody hears of.
func Ends(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
}
