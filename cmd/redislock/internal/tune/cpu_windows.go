package tune

import (
	"syscall"
	"time"
)

// processCPU is the processor time of this process so far.
func processCPU() time.Duration {
	process, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(process, &created, &ended, &kernel, &user); err != nil {
		return 0
	}
	return span(kernel) + span(user)
}

// span is a duration in steps of 100 ns. [syscall.Filetime.Nanoseconds] is a date.
func span(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
