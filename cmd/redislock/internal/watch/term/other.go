//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package term

import (
	"context"
	"errors"
	"os"
)

// Supported says that this system has what a screen needs.
const Supported = false

var errUnsupported = errors.New("not on this system")

// A state is the modes of a terminal.
type state struct{}

func (s *state) raw() *state { return s }

func openTTY() (*os.File, error) { return nil, errUnsupported }

func getState(*os.File) (*state, error) { return nil, errUnsupported }
func setState(*os.File, *state) error   { return errUnsupported }

func (t *Terminal) read([]byte) (int, error) { return 0, errUnsupported }

// Signals are what a process with a screen has to hear of: nothing here.
type Signals struct{ Resized chan os.Signal }

// Listen begins to hear of signals.
func Listen() *Signals { return &Signals{} }

// Stop ends it.
func (s *Signals) Stop() {}

// Stopped has a value when the process is to be stopped.
func (s *Signals) Stopped() <-chan os.Signal { return nil }

// Resumed has a value when the process goes on.
func (s *Signals) Resumed() <-chan os.Signal { return nil }

// Suspend is not on this system.
func (t *Terminal) Suspend(*Signals) error { return errUnsupported }

// Ends returns a context that ends with the signals that end a process, beside those that everybody hears of.
func Ends(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }
