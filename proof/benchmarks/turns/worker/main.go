// Worker is a process whose callers want one key. The program turns builds it for each version of the library, and tells it by its
// input what to do: an order a line, a reading a line in return. It ends with its input.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
)

func main() {
	if err := work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// work does what the lines of in ask for.
func work(in io.Reader, out io.Writer) (err error) {
	orders, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var present *crowd
	for {
		var order task.Order
		if err := orders.Decode(&order); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var reading task.Reading
		switch order.Do {
		case task.Start:
			present, err = gather(order)
		case task.Read:
			reading, err = present.read()
		case task.Stop:
			err = present.part()
		case task.Weigh:
			reading.Heap = heap()
			err = used(&reading)
		default:
			return fmt.Errorf("unknown order %q", order.Do)
		}
		if err != nil {
			reading.Failed = err.Error()
		}
		if err := answers.Encode(reading); err != nil {
			return err
		}
	}
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
