// Package serial numbers what happens in this process, whichever package it happens in, and puts what must not happen together
// one after the other.
package serial

import "sync/atomic"

var last atomic.Uint64

// Next returns a number that it has not returned before, and never 0.
func Next() uint64 { return last.Add(1) }
