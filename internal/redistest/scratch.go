package redistest

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// A scratch is the folder for temporary files of this process and of all that it starts: servers, and the TempDir of
// tests. It does not outlive the process, in whatever way that ends.
type scratch struct {
	dir    string
	keeper *exec.Cmd      // removes dir; nil where there is no shell
	alive  io.WriteCloser // what keeper reads from: the kernel closes it when the process ends
}

// keep removes a folder when its standard input has ended. Servers that die at
// the same moment may still write to the folder, so it may take several tries.
const keep = `read -r _; for _ in 1 2 3 4 5; do rm -rf -- "$1" && break; sleep 1; done`

// takeScratch makes the folder, and has it used. A test binary cannot tidy up if a panic, a time-out of the tests or a
// signal ends it. So another process does it. It waits for the end of a pipe, and not for a signal, so that nothing can
// end one process unnoticed by the other.
func takeScratch() (*scratch, error) {
	dir, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return nil, err
	}
	s := &scratch{dir: dir}
	if shell, err := exec.LookPath("sh"); err == nil {
		if err := s.keep(shell); err != nil {
			_ = os.Remove(dir)
			return nil, err
		}
	}
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *scratch) keep(shell string) (err error) {
	s.keeper = exec.Command(shell, "-c", keep, "keep", s.dir)
	// A signal to the group of the tests, as Ctrl-C sends, must not end the keeper.
	s.keeper.SysProcAttr = inOwnGroup()
	if s.alive, err = s.keeper.StdinPipe(); err != nil {
		return err
	}
	return s.keeper.Start()
}

// remove removes the folder and returns when it is gone.
func (s *scratch) remove() error {
	if s.keeper == nil {
		return os.RemoveAll(s.dir)
	}
	_ = s.alive.Close()
	return s.keeper.Wait()
}
