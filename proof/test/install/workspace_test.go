package install_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

const workFile = "go.work"

// A workspace is what `go work edit -json` says of a go.work. It joins the modules of a checkout. Users do not have it: the
// go command looks for it in the folders above the one in which it runs, and not in modules that it has downloaded.
type workspace struct {
	Use     []struct{ DiskPath string }
	Replace []struct{ Old struct{ Path string } }
}

// workspaceFaults says what is wrong with the workspace of a checkout: it lists all modules, and nothing else.
func workspaceFaults(ctx context.Context, dir string, all []module, files tree) (found []string, err error) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for name := range files {
		if path.Base(name) == workFile && name != workFile {
			say("%s: it hides the workspace of the repo from what is below it", name)
		}
	}
	if files[workFile] == nil {
		say("%s: there is none that a commit has: modules without replace do not get the code beside them", workFile)
		return found, nil
	}
	out, err := exec.CommandContext(ctx, "go", "work", "edit", "-json", filepath.Join(dir, workFile)).CombinedOutput()
	if err != nil {
		return found, fmt.Errorf("%s: %w: %s", workFile, err, out)
	}
	var w workspace
	if err := json.Unmarshal(out, &w); err != nil {
		return found, fmt.Errorf("%s: %w", workFile, err)
	}
	var listed []string
	for _, use := range w.Use {
		listed = append(listed, path.Clean(use.DiskPath))
	}
	for _, m := range all {
		if !slices.Contains(listed, m.dir) {
			say("%s: it does not list the module in %s", workFile, m.dir)
		}
	}
	for _, dir := range listed {
		if !slices.ContainsFunc(all, func(m module) bool { return m.dir == dir }) {
			say("%s: it lists %s, which is no module of the repo", workFile, dir)
		}
	}
	for _, r := range w.Replace {
		say("%s: replace of %s: users do not have it", workFile, r.Old.Path)
	}
	return found, nil
}
