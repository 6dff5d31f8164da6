package install_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A checkout is the repo as it is now, whether that is in a commit or not.
type checkout struct {
	dir     string
	files   tree
	modules []module
	offered []version
}

// openCheckout reads a checkout; what keeps users from installing its modules, and shows without trying it, is an error.
func openCheckout(ctx context.Context, dir string) (c checkout, err error) {
	c.dir = dir
	if c.files, err = readTree(ctx, dir); err != nil {
		return c, err
	}
	if c.modules, err = modules(ctx, dir, c.files); err != nil {
		return c, err
	}
	found, err := workspaceFaults(ctx, dir, c.modules, c.files)
	if err != nil {
		return c, err
	}
	if found = append(found, faults(c.modules)...); len(found) > 0 {
		return c, errors.New(strings.Join(found, "\n"))
	}
	if c.offered, err = versions(ctx, dir, c.modules, c.files); err != nil {
		return c, err
	}
	if found = otherRoots(c.modules, c.newest(c.modules[0])); len(found) > 0 {
		return c, errors.New(strings.Join(found, "\n"))
	}
	return c, nil
}

// newest is the version of a module that has the files of the checkout.
func (c checkout) newest(m module) (v version) {
	for _, other := range c.offered {
		if other.module == m.Module.Path {
			v = other
		}
	}
	return v
}

// needOthers has the modules that m requires put into the module cache of this machine, as work on m does. If that
// cannot be done the test is skipped, or fails in the gate.
func (c checkout) needOthers(t *testing.T, m module) {
	t.Helper()
	out, err := c.download(t, m)
	if err == nil {
		return
	}
	t.Logf("go mod download: %v\n%s", err, out)
	const reason = "not run: needs modules of others, and they cannot be had"
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// download fetches what a go.mod requires: without the workspace, because that takes the greatest version that any module
// of the repo requires, and with a replace in a copy, because the root that is required may not be released.
func (c checkout) download(t *testing.T, m module) ([]byte, error) {
	t.Helper()
	copied, root := t.TempDir(), check.Must[string](t)(filepath.Abs(c.dir))
	for _, name := range []string{"go.mod", "go.sum"} {
		writeFile(t, copied, name, string(c.files[path.Join(m.dir, name)]))
	}
	commands := [][]string{{"mod", "download"}}
	if m.dir != "." {
		commands = [][]string{{"mod", "edit", "-replace=" + c.modules[0].Module.Path + "=" + root}, {"mod", "download"}}
	}
	for _, args := range commands {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = copied, append(os.Environ(), "GOWORK=off", "PWD="+copied)
		if out, err := cmd.CombinedOutput(); err != nil {
			return out, err
		}
	}
	return nil, nil
}
