package history

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time on a clock that all processes of the machine share and nobody sets.
func Now() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // there is no Linux without this clock
	}
	return time.Duration(now.Nano())
}

// On returns a point in time on the clock of the history. If the process is stopped meanwhile the answer is too early, never
// too late: what must not overlap is not said to last longer than it does.
func On(t time.Time) time.Duration {
	now := Now()
	return now + time.Until(t)
}
