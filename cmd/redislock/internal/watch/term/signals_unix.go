//go:build unix

package term

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supported says that this system has what a screen needs.
const Supported = true

// sendSignal does what the terminal does by itself in its other mode: it sends the signal of a key to the processes in the
// foreground. It reports whether the key has one.
func sendSignal(key Key) bool {
	sig, has := map[Key]syscall.Signal{interrupt: syscall.SIGINT, quit: syscall.SIGQUIT, stop: syscall.SIGTSTP}[key]
	return has && syscall.Kill(0, sig) == nil
}

// Listen begins to hear of the signals that [Terminal.Heed] is for.
func Listen() <-chan os.Signal {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT)
	return signals
}

// Heed does what a signal asks for. Everything is to be drawn then: the terminal may have another size, or have shown something
// else meanwhile.
//
// Ctrl-Z gives the terminal back and stops the process, as it does with others, and Heed returns when the process goes on. Where
// no shell could let it go on it is not stopped, as the system has it for processes that do not ask for the signal.
func (t *Terminal) Heed(sig os.Signal, others <-chan os.Signal) error {
	switch {
	case sig == syscall.SIGCONT:
		return t.Enter()
	case sig != syscall.SIGTSTP || !hasShell():
		return nil
	}
	if err := t.Leave(); err != nil {
		return err
	}
	for len(others) > 0 {
		<-others // of an earlier stop
	}
	// Go has no way back to what SIGTSTP does by itself.
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	timeout := time.After(time.Second) // it was stopped and goes on, or this is the moment before it is
	for sig = nil; sig != syscall.SIGCONT; {
		select {
		case sig = <-others:
		case <-timeout:
			sig = syscall.SIGCONT
		}
	}
	return t.Enter()
}

// hasShell reports whether the process belongs to a job of a shell: to another group than the first process of the session.
func hasShell() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != syscall.Getpgrp()
}

// Ends returns a context that ends with the signals that end a process, beside those that everybody hears of.
func Ends(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
}
