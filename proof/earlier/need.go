package earlier

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// Need ends a test that has got this error when it opened an earlier version; nil: it goes on. It skips the test if the clone
// lacks a commit because it is shallow. root is the folder of the repository.
func Need(t *testing.T, root string, err error) {
	t.Helper()
	if errors.Is(err, ErrMissing) {
		shallow, _ := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "--is-shallow-repository").Output()
		if strings.TrimSpace(string(shallow)) == "true" {
			t.Skipf("not run: needs a commit that this shallow clone lacks: %v", err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
