package run

import (
	"os"
	"os/signal"
	"syscall"
)

// catch begins to hear of signals. The console sends Ctrl-C to the command as well.
func catch() <-chan os.Signal {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return signals
}

// endsProcess returns the number of a signal that ends a process which waits for its lock, else 0.
func endsProcess(sig os.Signal) int {
	if number, ok := sig.(syscall.Signal); ok {
		return int(number)
	}
	return 0
}

func settle() {}

// shield keeps a Ctrl-C from the supervisor.
func shield() { signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM) }

// A terminal is a matter of Unix.
type terminal struct{}

func openTerminal() *terminal                   { return nil }
func (t *terminal) isOurs() bool                { return false }
func (t *terminal) takeBack(int)                {}
func (s *session) pass(os.Signal)               {}
func (s *session) stopped(int)                  {}
func (s *session) dieAlike()                    {}
func (s *session) jobControl() <-chan os.Signal { return nil }
