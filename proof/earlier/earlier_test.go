package earlier

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// What a commit has is in the folder, and can be built.
func TestCheckOut(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "tree")
	if err := CheckOut(t.Context(), root, "HEAD", to); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", ".")
	build.Dir = to
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCheckOutOfNothing(t *testing.T) {
	t.Parallel()
	err := CheckOut(t.Context(), root, strings.Repeat("0", 40), t.TempDir())
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("got error %v, want one that says how to get the commit", err)
	}
}
