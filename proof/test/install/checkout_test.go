package install_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
	var found []error
	for _, fault := range faults(c.modules, c.files) {
		found = append(found, errors.New(fault))
	}
	if err := errors.Join(found...); err != nil {
		return c, err
	}
	c.offered, err = versions(ctx, dir, c.modules, c.files)
	return c, err
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
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download")
	cmd.Dir = filepath.Join(c.dir, m.dir)
	out, err := cmd.CombinedOutput()
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
