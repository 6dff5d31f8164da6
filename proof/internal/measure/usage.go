package measure

import (
	"context"
	"runtime"
	"syscall"
	"time"
)

// A Usage is what some operations have used, from a moment before to a moment after them.
type Usage struct {
	Ops       int
	Wall      time.Duration
	ServerCPU time.Duration // of the main threads of the servers
	ClientCPU time.Duration // of this process
	Commands  int           // on the servers, also those inside of scripts, without the calls of scripts
	Calls     int           // of scripts
	Bytes     int           // that the servers have received and sent
	Allocs    uint64
	Pace      time.Duration // how long a fixed piece of work took just before
}

// less returns what was used since before.
func (u Usage) less(before Usage) Usage {
	u.Wall -= before.Wall
	u.ServerCPU -= before.ServerCPU
	u.ClientCPU -= before.ClientCPU
	u.Commands -= before.Commands
	u.Calls -= before.Calls
	u.Bytes -= before.Bytes
	u.Allocs -= before.Allocs
	return u
}

// used returns what this process and the servers have used so far. Wall is since some moment.
func used(ctx context.Context, servers []*Server) (Usage, error) {
	var u Usage
	for _, s := range servers {
		now, err := s.counters(ctx)
		if err != nil {
			return Usage{}, err
		}
		u.ServerCPU += now.mainThread
		u.Commands += now.commands
		u.Calls += now.calls
		u.Bytes += now.bytes
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u.Allocs = memory.Mallocs
	u.ClientCPU = processCPU()
	u.Wall = time.Since(start)
	return u, nil
}

var start = time.Now()

// processCPU is the processor time of this process so far.
func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
