package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// run runs the command and returns its exit status.
func (j job) run() (status int, err error) {
	// What is started has the processors of the thread that starts it, and the loops end with this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore, err := limit(j.cores)
	if err != nil {
		return failed, err
	}
	defer restore()
	stop, err := busy(j.busy)
	defer stop()
	if err != nil {
		return failed, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)
	cmd := exec.Command(j.command[0], j.command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return failed, err
	}
	s := newStopper(cmd.Process.Pid, j.longest, j.every, rand.New(rand.NewPCG(j.seed, 0)))
	j.attend(cmd, s, signals)
	_, _ = fmt.Fprintf(j.out, "stall: %s; -seed %d\n", s.text(), j.seed)
	return statusOf(cmd.ProcessState), nil
}

// attend lets the stopper work until the command has ended. After a signal, which the command gets as well, nothing is
// stopped any more.
func (j job) attend(cmd *exec.Cmd, s *stopper, signals <-chan os.Signal) {
	enough, still := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(still)
		if j.longest > 0 {
			s.run(enough)
		}
	}()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = cmd.Wait() // its state says how it ended
	}()
	stop := sync.OnceFunc(func() { close(enough) })
	end := func() {
		stop()
		<-still
	}
	for {
		select {
		case sig := <-signals:
			end()
			_ = cmd.Process.Signal(sig) // it may have ended
		case <-over:
			end()
			return
		}
	}
}

func statusOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// limit leaves this thread so many of its processors, all if 0, until restore is called.
func limit(cores int) (restore func(), err error) {
	var all, some unix.CPUSet
	if cores == 0 {
		return func() {}, nil
	}
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, err
	}
	if n := all.Count(); n < cores {
		return nil, fmt.Errorf("there are %d processors", n)
	}
	for cpu := 0; some.Count() < cores; cpu++ {
		if all.IsSet(cpu) {
			some.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &some); err != nil {
		return nil, err
	}
	return func() { _ = unix.SchedSetaffinity(0, &all) }, nil
}

// busy starts loops, which run until stop is called, or this thread ends in another way.
func busy(loops int) (stop func(), err error) {
	var started []*exec.Cmd
	stop = func() {
		for _, cmd := range started {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	for range loops {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
		if err := cmd.Start(); err != nil {
			return stop, err
		}
		started = append(started, cmd)
	}
	return stop, nil
}
