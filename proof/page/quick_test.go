package page

import (
	"os/exec"
	"strings"
	"testing"
)

// The time of the quick suite is that of building: each of its test binaries is linked with go-redis, but for few such as those
// of internal/clock.
func TestQuickSuiteHasFewBinaries(t *testing.T) {
	t.Parallel()
	const most = 13
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) > most || len(packages) == 0 {
		t.Errorf("%d packages of the root have tests, want at most %d:\n%s", len(packages), most, strings.Join(packages, "\n"))
	}
}
