//go:build !unix

package term

import "os"

// Supported says that this system has what a screen needs.
const Supported = false

func sendSignal(string) bool { return false }

// Listen has nothing to hear of.
func Listen() <-chan os.Signal { return nil }

// Heed has nothing to do.
func (t *Terminal) Heed(os.Signal) error { return nil }
