package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Who has neither a network nor a module can build the report, also where nothing can be written for want of rights: it needs
// the standard library and a package of its own module.
func TestReportBuildsWithoutModules(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(t.TempDir(), "report"), "./proof/report")
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "GOWORK="+filepath.Join(root, "go.work"), "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local",
		"GOMODCACHE="+filepath.Join(t.TempDir(), "none"))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
