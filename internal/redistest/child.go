package redistest

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// child is a process this one started. It is always reaped.
type child struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended and is reaped
	err  error         // what Wait said; written before gone is closed
}

// startChild starts cmd and looks after it until it ends. atExit, if not nil,
// runs once the process is reaped and all its output has been copied.
func startChild(cmd *exec.Cmd, atExit func()) (*child, error) {
	cmd.SysProcAttr = dieWithParent()
	c := &child{cmd: cmd, gone: make(chan struct{})}
	started := make(chan error, 1)
	go c.run(started, atExit)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// run forks and waits on one thread. The kernel's "kill the child when its
// parent dies" means the parent thread, and Go ends threads at will: a child
// forked from any other goroutine may be killed in the middle of a test. The
// locked thread lives as long as this call, that is, longer than the child.
func (c *child) run(started chan<- error, atExit func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	c.err = c.cmd.Wait()
	if atExit != nil {
		atExit()
	}
	close(c.gone)
}

// pid stays the same after the process has ended.
func (c *child) pid() int { return c.cmd.Process.Pid }

// kill ends the process, stopped or not, and returns when it is reaped.
func (c *child) kill() {
	// Fails only if the process has ended, which is what is wanted.
	_ = c.cmd.Process.Kill()
	<-c.gone
}

// pause returns when the process stands still.
func (c *child) pause() error {
	if err := c.signalStop(); err != nil {
		return fmt.Errorf("redistest: pause pid %d: %w", c.pid(), err)
	}
	return Until(5*time.Second, func() error {
		if !stopped(c.pid()) {
			return fmt.Errorf("redistest: pid %d does not stop", c.pid())
		}
		return nil
	})
}

// resume lets a paused process go on; it does nothing to a running one.
func (c *child) resume() error {
	if err := c.signalContinue(); err != nil {
		return fmt.Errorf("redistest: resume pid %d: %w", c.pid(), err)
	}
	return nil
}

// hopeless marks an error that waiting will not mend.
type hopeless struct{ error }

func (h hopeless) Unwrap() error { return h.error }

// Until calls check every few milliseconds until it returns nil or a hopeless
// error. When patience runs out it returns the last error.
func Until(patience time.Duration, check func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil || errors.As(err, &hopeless{}) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", patience, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
