// Stall runs a command, such as the tests, on a machine that is made to look busy: test binaries and servers below the command
// stand still at random, as they do where others take the processors, where memory is swapped, or where a virtual machine sleeps.
// What fails then for the lack of time only is a test that depends on how fast its machine is.
//
//	go build -C proof -o ../.bin/stall ./stall
//	.bin/stall -busy 2 -longest 700ms -seed 1 -- make test
//	.bin/stall -cores 1 -longest 0 -- make test    # no stops, one processor
//
// It stops and continues a process by signals, at most for -longest, and chooses the next one after -every on average: several
// may stand still at a time. The choice is from the processes whose program is a test binary, a Redis server, a Valkey server or a
// Sentinel, of all that descend from the command. A process that a test has stopped itself is left alone, also if the test does so
// while the process stands still. With -busy as many loops run beside the command; with -cores the command and the loops have so
// many processors together. The same -seed gives the same times, but not the same processes.
//
// Nothing that it has stopped stays so when it ends, whether the command has ended, it was interrupted, or it panicked. Only
// SIGKILL leaves it no time for that. It passes on SIGINT, SIGTERM and SIGHUP, and waits for the command. At the end it says
// which programs it has stopped how often. Its exit status is that of the command, 128 and the signal if one ended that, and 2 if
// the command could not be run.
//
// It needs Linux.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// A job is one run of a command.
type job struct {
	busy    int           // loops beside the command
	cores   int           // for the command and the loops together; all if 0
	longest time.Duration // one stop; none if 0
	every   time.Duration // from one stop to the next, on average
	seed    uint64
	command []string
	out     io.Writer // what is said at the end
}

// failed is the exit status if the command could not be run.
const failed = 2

func main() {
	j := job{out: os.Stderr}
	flag.IntVar(&j.busy, "busy", 0, "how many `loops` run beside the command")
	flag.IntVar(&j.cores, "cores", 0, "how many `processors` the command and the loops have; all if 0")
	flag.DurationVar(&j.longest, "longest", 700*time.Millisecond, "the longest `time` for which a process stands still; none does if 0")
	flag.DurationVar(&j.every, "every", 350*time.Millisecond, "the `time` from one stop to the next, on average")
	flag.Uint64Var(&j.seed, "seed", 1, "the `number` from which the times are made")
	flag.Usage = func() {
		_, _ = fmt.Fprintln(flag.CommandLine.Output(), "usage: stall [flags] -- command [argument …]")
		flag.PrintDefaults()
	}
	flag.Parse()
	j.command = flag.Args()
	if len(j.command) == 0 || j.busy < 0 || j.cores < 0 || j.longest < 0 || j.every <= 0 {
		flag.Usage()
		os.Exit(failed)
	}
	status, err := j.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stall:", err)
	}
	os.Exit(status)
}
