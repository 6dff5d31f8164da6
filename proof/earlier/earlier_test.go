package earlier

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// What a commit has is in the folder, and can be built: Base alone if the clone has it.
func TestCheckOut(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "tree")
	err := CheckOut(t.Context(), root, Base, to)
	if shallow, _ := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "--is-shallow-repository").Output(); err != nil {
		if strings.TrimSpace(string(shallow)) == "false" {
			t.Error(err)
		}
		t.Skipf("not run: needs commit %.7s, which a shallow clone may lack: git fetch --unshallow brings it", Base)
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
	if err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("got error %v, want one that says how to get the commit", err)
	}
}
