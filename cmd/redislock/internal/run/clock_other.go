//go:build !linux

package run

import "time"

// sharedClock reads a clock that all processes share. That is the wall clock, which may be set; if it is set back, the
// monotonic clock of the supervisor counts.
func sharedClock() time.Duration { return time.Duration(time.Now().UnixNano()) }
