package redistest_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A program is found by its path, and gets no setting that an old version would refuse to start with.
func TestStartProgram(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), "old-server")
	script := "#!/bin/sh\ncase \"$*\" in *enable-debug-command*) echo unknown >&2; exit 1;; esac\nexec '" + program + "' \"$@\"\n"
	check.WriteProgram(t, old, script)
	s := redistest.StartProgram(t, "old", old, "--hz", "50")
	if got := s.Client(t, once).ConfigGet(t.Context(), "hz").Val()["hz"]; got != "50" || s.Kind() != "old" {
		t.Errorf("a server of kind %q has hz = %q, want old, and the extra argument's 50", s.Kind(), got)
	}
}
