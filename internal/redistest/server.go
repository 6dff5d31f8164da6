package redistest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// launchTries is how many ports to try when others keep taking them.
const launchTries = 10

// errPortTaken says that another port may do.
var errPortTaken = errors.New("port taken by another process")

// Server is one real server process on 127.0.0.1. It keeps nothing on disk: a
// restart finds it empty, unless its arguments ask for persistence.
//
// Its methods are safe for concurrent use. If a method without an error result cannot do its work, it fails the test of
// the server without ending it; a server from [Launch] has no test and panics.
type Server struct {
	kind    Kind
	program string
	foreign bool   // from StartProgram
	dir     string // logs, and whatever the server writes
	port    int
	conf    string     // sentinels only: the first content of their configuration file
	clock   *Clock     // its wall clock; nil is the machine's
	tb      testing.TB // nil from Launch

	mu   sync.Mutex // one start or stop at a time
	args []string   // under mu
	runs int        // under mu; numbers the logs
	proc *child     // under mu; the present or the last process
	over bool       // under mu; after Stop
}

// Start runs a server of kind for the time of the test and returns when it
// answers. extraArgs follow the standing arguments, so they can override them.
// Without the program the test is skipped, see [Need].
func Start(tb testing.TB, kind Kind, extraArgs ...string) *Server {
	tb.Helper()
	Need(tb, kind.program())
	s, err := Launch(kind, extraArgs...)
	if err != nil {
		tb.Fatal(err)
	}
	return s.adopt(tb)
}

// StartProgram is [Start] for a program with this path, of any version from Redis 4.0 on. Debug commands keep the
// default of that program: older versions do not know the setting.
func StartProgram(tb testing.TB, kind Kind, path string, extraArgs ...string) *Server {
	tb.Helper()
	s, err := launch(&Server{kind: kind, program: path, foreign: true, args: extraArgs})
	if err != nil {
		tb.Fatal(err)
	}
	return s.adopt(tb)
}

// Launch is [Start] without a test: the caller calls [Server.Stop].
func Launch(kind Kind, extraArgs ...string) (*Server, error) {
	return launch(&Server{kind: kind, args: extraArgs})
}

// adopt binds s to the life of a test.
func (s *Server) adopt(tb testing.TB) *Server {
	tb.Helper()
	s.tb = tb
	tb.Cleanup(s.Stop)
	return s
}

// launch starts s and fills in the rest of it: kind, conf, args and clock are set, and so is program if it is not the
// usual one. It tries ports until the server has one for itself. A non-empty conf makes it a sentinel. On an error
// nothing of s is left.
func launch(s *Server) (_ *Server, err error) {
	if s.program, err = exec.LookPath(cmp.Or(s.program, s.kind.program())); err != nil {
		return nil, fmt.Errorf("redistest: %s is not a server that can be started: %w", s.kind, err)
	}
	if s.dir, err = os.MkdirTemp("", "redistest-"); err != nil {
		return nil, fmt.Errorf("redistest: launch: %w", err)
	}
	s.args = slices.Clone(s.args)
	if err = s.takeOff(); err != nil {
		// The failure to start is the news, not a directory left behind.
		_ = s.removeFiles()
		return nil, err
	}
	return s, nil
}

// takeOff starts s on the first port that it gets. On an error it has none.
func (s *Server) takeOff() (err error) {
	if s.clock != nil {
		if err = s.clock.install(s.dir); err != nil {
			return fmt.Errorf("redistest: launch: %w", err)
		}
	}
	for range launchTries {
		if s.port, err = takePort(); err != nil {
			return err
		}
		if err = s.startLocked(); err == nil {
			return nil
		}
		freePort(s.port)
		if !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// removeFiles removes what s has read and written.
func (s *Server) removeFiles() error {
	var err error
	if s.clock != nil {
		err = s.clock.remove()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// startLocked runs the program on s.port and returns when it answers. On an
// error no process is left.
func (s *Server) startLocked() error {
	s.runs++
	args, err := s.commandLine()
	if err != nil {
		return fmt.Errorf("redistest: start: %w", err)
	}
	cmd := exec.Command(s.program, args...)
	if s.clock != nil {
		s.clock.apply(cmd, s.dir)
	}
	proc, err := startChild(cmd, nil)
	if err != nil {
		return fmt.Errorf("redistest: start: %w", err)
	}
	if err := s.awaitReady(proc); err != nil {
		proc.kill()
		return fmt.Errorf("redistest: start %s on port %d: %w\nend of its log:\n%s", s.kind, s.port, err, tail(s.readLog()))
	}
	s.proc = proc
	return nil
}

func (s *Server) commandLine() ([]string, error) {
	// The server changes to its directory first, so the log needs a full path.
	args := []string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--daemonize", "no",
		"--dir", s.dir, "--logfile", s.logName(),
	}
	if s.conf == "" {
		// On a busy machine a script for thousands of keys may take longer than the 5 s after which others are answered BUSY.
		args = append(args, "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0", "--lua-time-limit", "60000")
		if !s.foreign {
			args = append(args, "--enable-debug-command", "yes")
		}
		if s.clock != nil {
			args = append(args, s.clock.args()...)
		}
		return append(args, s.args...), nil
	}
	file := filepath.Join(s.dir, "sentinel.conf")
	if _, err := os.Stat(file); err != nil {
		// Only the first time: a sentinel keeps what it has learned in it.
		if err := os.WriteFile(file, []byte(s.conf), 0o600); err != nil {
			return nil, err
		}
	}
	return append(append([]string{file, "--sentinel"}, args...), s.args...), nil
}

// Addr is where the server listens, also while it is down.
func (s *Server) Addr() string { return loopback(s.port) }

// Port is the port of Addr.
func (s *Server) Port() int { return s.port }

// Kind says which program it is.
func (s *Server) Kind() Kind { return s.kind }

// Client returns a client with go-redis's default options apart from the
// address, changed by mod, closed when the test ends.
func (s *Server) Client(tb testing.TB, mod ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	return newClient(tb, s.Addr(), mod)
}

// PID is the process id of the present process, or of the last one if the
// server is down.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.pid()
}

// Pause stops the process with SIGSTOP and returns when it stands still. Its
// connections stay open and take bytes; it does nothing with them until Resume.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(s.proc.pause())
}

// Resume lets the process go on with what it has received meanwhile.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(s.proc.resume())
}

// Kill ends the process with SIGKILL and returns when it is gone. The port
// refuses connections from then on. Killing a server that is down does nothing.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.kill()
}

// Restart kills the process if it runs, starts the program again on the same
// port with the same arguments, and returns when it answers. extraArgs are added
// behind the old ones, for later restarts too. The data is gone, the directory
// stays: a node of a cluster keeps its identity, a sentinel what it knows.
func (s *Server) Restart(extraArgs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.kill()
	if s.over {
		s.must(fmt.Errorf("redistest: restart %s on port %d: already stopped for good", s.kind, s.port))
		return
	}
	s.args = append(s.args, extraArgs...)
	var err error
	for range launchTries {
		// The port is still ours within this process; a server of another one may
		// be trying it just now.
		if err = s.startLocked(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	s.must(err)
}

// Wipe kills the process if it runs, and deletes the data that it has kept: the next
// Restart finds none, even if the arguments ask for persistence. A node of a cluster
// keeps its identity, a sentinel what it knows.
func (s *Server) Wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.kill()
	for _, data := range []string{"appendonlydir", "dump.rdb"} {
		s.must(os.RemoveAll(filepath.Join(s.dir, data)))
	}
}

// Stop kills the process and removes what it wrote. It may be called more than
// once; after it the server cannot be used any more. [Start] calls it when the
// test ends.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	s.proc.kill()
	freePort(s.port)
	s.must(s.removeFiles())
}

// must fails the test on an error. It does not end the test, because a server
// may be paused or killed from any goroutine.
func (s *Server) must(err error) {
	switch {
	case err == nil:
	case s.tb == nil:
		panic(err)
	default:
		s.tb.Helper()
		s.tb.Error(err)
	}
}
