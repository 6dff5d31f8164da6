package cli

import (
	"errors"
	"fmt"
)

// The exit statuses. Those from 64 on are the ones of sysexits(3), as far as it has them.
const (
	Failed      = 1  // the answer is no, something is wrong, or an error has no status of its own
	Usage       = 2  // the command line is wrong
	NoLock      = 65 // a key holds something that is no lock
	Unavailable = 69 // Redis cannot be reached, or cannot be used now
	NotObtained = 75 // a lock was not to be had, or a key did not become free in time
	Refused     = 77 // Redis refuses this user
	Lost        = 79 // a lock was lost while it was used
	CannotRun   = 126
	NotFound    = 127
	Interrupted = 130
	ClosedPipe  = 141 // nobody reads the output any more; as if SIGPIPE had ended the tool
)

// A StatusError is an error with an exit status.
type StatusError struct {
	Status int
	Err    error // nil: everything has been said
}

func (e *StatusError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

func (e *StatusError) Unwrap() error { return e.Err }

// Exit gives an error an exit status. Without an error nothing more is said.
func Exit(status int, err error) error { return &StatusError{status, err} }

// A UsageError says what is wrong with the command line.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }

// statusOf returns the exit status for an error.
func statusOf(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Status
	}
	if _, ok := errors.AsType[UsageError](err); ok {
		return Usage
	}
	return Failed
}
