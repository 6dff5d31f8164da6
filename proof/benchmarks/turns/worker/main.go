// Worker is a process whose callers want one key. The program turns builds it for each version of the library, and tells it by its
// input what to do: an order a line, a reading a line in return. It ends with its input.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
	"github.com/seed-14de3678/redislock/proof/internal/worker"
)

func main() {
	if err := work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// work does what the lines of in ask for.
func work(in io.Reader, out io.Writer) error {
	var present *crowd
	return worker.Work(in, out, func(order task.Order) (reading task.Reading, err error) {
		switch order.Do {
		case task.Start:
			if present, err = gather(order); err == nil {
				reading.Heap = present.empty
			}
		case task.Read:
			reading, err = present.read()
		case task.Stop:
			err = present.part()
		case task.Weigh:
			reading.Heap = heap()
			err = used(&reading)
		default:
			return reading, fmt.Errorf("unknown order %q", order.Do)
		}
		if err != nil {
			reading.Failed = err.Error()
		}
		return reading, nil
	})
}

// heap is what is in use, without what could be collected.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what had a finalizer in the first is collected in the second
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

// used is what this process has used from its start.
func used(r *task.Reading) error {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return err
	}
	r.CPU = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	r.Allocs = memory.Mallocs
	return nil
}
