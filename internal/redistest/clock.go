package redistest

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// skewSource is the C source of the library that a server with a [Clock] is
// started with.
//
//go:embed skew.c
var skewSource []byte

// The files of a clock, in the directory of its server.
const (
	skewLibrary = "skew.so"
	skewControl = "clock"
)

// Clock is the wall clock of one server from [StartSkewed], and the pace of its disk. It
// is safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	control *clockControl // under mu; nil before the server's directory is made and after Stop
}

// StartSkewed is [Start] with a wall clock of the server's own, which [Clock.Shift]
// sets and which shows the true time until then. The server's monotonic clock stays
// the machine's, and so do the clocks of everybody else. The offset survives
// [Server.Restart].
//
// It takes Linux and a C compiler. Without them the test is skipped, or fails, as
// it does without the program: see [Need].
func StartSkewed(tb testing.TB, kind Kind, extraArgs ...string) (*Server, *Clock) {
	tb.Helper()
	Need(tb, kind.program())
	needClock(tb)
	clock := &Clock{}
	s, err := launch(&Server{kind: kind, args: extraArgs, clock: clock})
	if err != nil {
		tb.Fatal(err)
	}
	return s.adopt(tb), clock
}

// cachedFor is for how long a server may go by what it has read from the clock before: Valkey 9.1 asks once a
// millisecond, and in between adds what has passed by its monotonic clock.
const cachedFor = time.Millisecond

// Shift puts the server's wall clock d ahead of the true one, or behind it if d is
// negative. d replaces what earlier calls said; zero is the true time again. Every
// command sent after Shift has returned is executed at the new time. Shift does
// nothing once the server is stopped for good.
//
// A server takes a jump for time that has passed: a jump forward may also end its
// time-outs of blocked commands, of replicas and of other nodes.
func (c *Clock) Shift(d time.Duration) {
	if c.set(d) {
		time.Sleep(2 * cachedFor)
	}
}

// set reports whether there is a server that will see it.
func (c *Clock) set(d time.Duration) bool {
	return c.change(func(control *clockControl) { control.offset.Store(int64(d)) })
}

// SlowDisk has every fsync and fdatasync of the server take d longer. d replaces what
// earlier calls said; zero is the true disk again. It survives [Server.Restart] as the
// time does.
func (c *Clock) SlowDisk(d time.Duration) {
	c.change(func(control *clockControl) { control.sync.Store(int64(d)) })
}

// change reports whether there is a server that will see it.
func (c *Clock) change(how func(*clockControl)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.control == nil {
		return false
	}
	how(c.control)
	return true
}

// install puts the files that a server with this clock reads into dir.
func (c *Clock) install(dir string) error {
	library, err := skew()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, skewLibrary), library, 0o700); err != nil {
		return err
	}
	control, err := mapControl(filepath.Join(dir, skewControl))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.control = control
	return nil
}

// apply makes cmd run by this clock. dir is the directory of that server.
func (c *Clock) apply(cmd *exec.Cmd, dir string) {
	// Relative names, because the loader cuts the variable at spaces and colons,
	// and a temporary directory may have such a name.
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "LD_PRELOAD=./"+skewLibrary, "REDISTEST_CLOCK="+skewControl)
}

// args are standing arguments of a server with this clock. A background thread of jemalloc takes the time at which it
// wants to wake up from the server's clock, and waits for it by the machine's. It spins while the server's clock is
// behind.
func (c *Clock) args() []string { return []string{"--jemalloc-bg-thread", "no"} }

// obeyedBy returns nil if the process with this id reads the clock. The loader
// goes on without a library that it cannot use, and does not even say so if the
// program is linked statically.
func (c *Clock) obeyedBy(pid int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.control == nil || c.control.reader.Load() != int64(pid) {
		return errors.New("the process has not loaded the library that sets its clock")
	}
	return nil
}

// remove ends the use of the files; they go with the server's directory.
func (c *Clock) remove() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.control == nil {
		return nil
	}
	err := c.control.unmap()
	c.control = nil
	return err
}

// needClock is [Need] for everything that a clock takes.
func needClock(tb testing.TB) {
	tb.Helper()
	if runtime.GOOS != "linux" {
		lack(tb, "Linux, where one process can have a wall clock of its own")
		return
	}
	if _, err := compiler(); err != nil {
		lack(tb, "a C compiler (cc, gcc or clang) in PATH; install it with the system's package manager "+
			"(on Debian: apt-get install gcc libc6-dev)")
	}
}

// compiler is the first C compiler in PATH.
func compiler() (string, error) {
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// skew is the compiled library. It is kept in memory, for each server to get a
// file of its own, so that nothing is left behind for the end of the tests.
var skew = sync.OnceValues(func() ([]byte, error) {
	cc, err := compiler()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing hangs on it
	if err := os.WriteFile(filepath.Join(dir, "skew.c"), skewSource, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(cc, "-O2", "-shared", "-fPIC", "-o", skewLibrary, "skew.c")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile skew.c: %w\n%s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, skewLibrary))
})
