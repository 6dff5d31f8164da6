//go:build !unix

package term

import (
	"context"
	"os"
)

// Supported says that this system has what a screen needs.
const Supported = false

func sendSignal(Key) bool { return false }

// Listen has nothing to hear of.
func Listen() <-chan os.Signal { return nil }

// Heed has nothing to do.
func (t *Terminal) Heed(os.Signal, <-chan os.Signal) error { return nil }

// Ends returns a context that ends with the signals that end a process, beside those that everybody hears of.
func Ends(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }
