package campaign

import (
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/work"
)

// Role is the name under which test binaries register [work.Role].
const Role = "torture-worker"

// process is a Worker that is one.
type process struct{ *redistest.Process }

// Hire starts a worker for the time of the test, and returns when it begins to work.
func Hire(tb testing.TB, c work.Config) Worker {
	tb.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		tb.Fatal(err)
	}
	p := redistest.StartRole(tb, Role, string(text))
	if line, err := p.ReadLine(time.Minute); line != "ready" {
		tb.Errorf("process %d is not ready: %q, %v", c.Process, line, err)
	}
	return process{p}
}

// End sends SIGTERM.
func (p process) End() { p.Signal(syscall.SIGTERM) }

// Dump sends SIGQUIT: what all goroutines do goes to stderr.
func (p process) Dump() { p.Signal(syscall.SIGQUIT) }
