package install_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// proof is the folder of the module that is not for users. All others are installed here.
	proof = "proof"

	// tools is the folder of the modules whose commands users install.
	tools = "cmd/"
)

// direct are the only modules that the root may require directly, because each user of it gets them.
var direct = []string{
	"github.com/alicebob/miniredis/v2", "github.com/cenkalti/backoff/v4", "github.com/google/go-cmp", "github.com/redis/go-redis/v9",
}

// A module is a folder with a go.mod.
type module struct {
	dir string // "." for the root
	modFile
}

// modFile is what `go mod edit -json` says of a go.mod.
type modFile struct {
	Module  struct{ Path string }
	Go      string
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
	Exclude []struct{ Path, Version string }
}

// modules returns all modules of a checkout, the root first.
func modules(ctx context.Context, dir string, files tree) ([]module, error) {
	var found []module
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) != "go.mod" || strings.Contains(name, "testdata/") {
			continue
		}
		m := module{dir: path.Dir(name)}
		out, err := exec.CommandContext(ctx, "go", "mod", "edit", "-json", filepath.Join(dir, name)).CombinedOutput()
		if err == nil {
			err = json.Unmarshal(out, &m.modFile)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s", name, err, out)
		}
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(a, b module) int { return strings.Compare(a.Module.Path, b.Module.Path) })
	if len(found) == 0 || found[0].dir != "." {
		return nil, fmt.Errorf("%s: no go.mod, or modules that are not below it", dir)
	}
	return found, nil
}

// forUsers reports whether users install the module.
func (m module) forUsers() bool { return m.dir != proof }

// isJoined reports whether the module is one with the root of the same commit: it may import what is internal there. The
// workspace joins the two for those who work on them, and for users the version that it requires.
func (m module) isJoined() bool { return m.dir == proof || isTool(m.dir) }

func isTool(dir string) bool { return strings.HasPrefix(dir, tools) }

// faults says what stands in a go.mod that would keep users from installing a module, or work from being done on it.
func faults(all []module) (found []string) {
	for _, m := range all {
		for _, fault := range m.faults(all) {
			found = append(found, path.Join(m.dir, "go.mod")+": "+fault)
		}
	}
	return found
}

// release is a version that is neither a pseudo-version nor a pre-release.
var release = regexp.MustCompile(`^v([0-9]+)\.([0-9]+)\.([0-9]+)$`)

func (m module) faults(all []module) (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	root := all[0]
	if m.dir == "." {
		if len(m.Replace) > 0 || len(m.Exclude) > 0 {
			say("replace and exclude have no effect for users")
		}
		for _, r := range m.Require {
			if !r.Indirect && !slices.Contains(direct, r.Path) {
				say("it requires %s directly: what needs that goes into a nested module", r.Path)
			}
		}
		return found
	}
	if want := root.Module.Path + "/" + m.dir; m.Module.Path != want {
		say("module %s: in this folder it has to be %s", m.Module.Path, want)
	}
	if slices.Compare(numbers(m.Go), numbers(root.Go)) > 0 {
		say("go %s: the root has go %s", m.Go, root.Go)
	}
	if _, required := m.requires(root); !required {
		say("it does not require %s", root.Module.Path)
	}
	for _, other := range all {
		version, required := m.requires(other)
		switch {
		case !required:
		case !other.forUsers():
			say("it requires %s, which is not for users", other.Module.Path)
		case !release.MatchString(version) || version == "v0.0.0":
			say("it requires %s %s: not a version that is released", other.Module.Path, version)
		case !m.isJoined() && !m.replaces(other):
			say("no replace of %s by %s: work in the repo is not done with the code beside it", other.Module.Path, m.pathTo(other))
		}
	}
	return append(found, m.directives(all)...)
}

// directives says which replace or exclude must not stand in a go.mod.
func (m module) directives(all []module) (found []string) {
	if m.isJoined() {
		if len(m.Replace) > 0 || len(m.Exclude) > 0 {
			found = append(found, "replace or exclude: `go install` of a command refuses them, and go.work does without")
		}
		return found
	}
	if len(m.Exclude) > 0 {
		found = append(found, "exclude has no effect for users")
	}
	for _, r := range m.Replace {
		if !slices.ContainsFunc(all, func(o module) bool { return o.Module.Path == r.Old.Path }) {
			found = append(found, fmt.Sprintf("replace of %s: it has no effect for users", r.Old.Path))
		}
	}
	return found
}

func (m module) requires(other module) (version string, required bool) {
	for _, r := range m.Require {
		if r.Path == other.Module.Path {
			return r.Version, true
		}
	}
	return "", false
}

// replaces reports whether m replaces all versions of the other module by its folder.
func (m module) replaces(other module) bool {
	for _, r := range m.Replace {
		if r.Old.Path == other.Module.Path {
			return r.Old.Version == "" && r.New.Version == "" && path.Clean(r.New.Path) == path.Clean(m.pathTo(other))
		}
	}
	return false
}

// pathTo is how m replaces the other module.
func (m module) pathTo(other module) string {
	up := strings.Repeat("../", strings.Count(m.dir, "/")+1)
	return up + strings.TrimPrefix(other.dir, ".")
}
