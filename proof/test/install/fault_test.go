package install_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// whole is a small repo that users can install: a root, a tool, a module for users and one that is not for them.
var whole = map[string]string{
	"go.mod":                  "module example.com/lock\n\ngo 1.26.0\n",
	"go.work":                 "go 1.26.0\n\nuse (\n\t.\n\t./cmd/lock\n\t./metrics\n\t./proof\n)\n",
	"LICENSE":                 "free\n",
	"lock.go":                 "package lock\n\nimport _ \"embed\"\n\n//go:embed obtain.lua\nvar Script string\n",
	"obtain.lua":              "return 1\n",
	"internal/wire/wire.go":   "package wire\n\nconst Size = 1\n",
	"cmd/lock/go.mod":         nested("example.com/lock/cmd/lock", "require example.com/lock v0.1.0"),
	"cmd/lock/main.go":        "package main\n\n" + imports + "func main() { println(lock.Script, wire.Size) }\n",
	"metrics/go.mod":          nested("example.com/lock/metrics", "require example.com/lock v0.1.0", "replace example.com/lock => ../"),
	"metrics/metrics.go":      "package metrics\n\nimport \"example.com/lock\"\n\nvar Size = len(lock.Script)\n",
	"metrics/metrics_test.go": "package metrics\n\nimport \"example.com/lock/internal/wire\"\n\nvar _ = wire.Size\n",
	"metrics/vendor/a/a.go":   "package a\n",
	"proof/go.mod":            nested("example.com/lock/proof", "require example.com/lock v0.1.0"),
	"proof/main.go":           "package main\n\n" + imports + "func main() { println(lock.Script, wire.Size) }\n",
}

const imports = "import (\n\t\"example.com/lock\"\n\t\"example.com/lock/internal/wire\"\n)\n\n"

func nested(path string, lines ...string) string {
	return "module " + path + "\n\ngo 1.26.0\n\n" + strings.Join(lines, "\n\n") + "\n"
}

// What would keep users from installing a module is noticed. Each fault is one change of the small repo.
func TestInstallNotices(t *testing.T) {
	t.Parallel()
	const metrics, root = "example.com/lock/metrics", "replace example.com/lock => ../"
	const tool, proof = "example.com/lock/cmd/lock", "example.com/lock/proof"
	for name, c := range map[string]struct {
		file, content string // empty: there is no such file
		want          string // a part of the error; empty: there is no fault
	}{
		"nothing": {"lock_test.go", "package lock\n", ""},
		"a root with replace": {
			"go.mod", "module example.com/lock\n\ngo 1.26.0\n\nreplace example.com/other => ./other\n",
			"go.mod: replace and exclude have no effect for users",
		},
		"a root with exclude": {
			"go.mod", "module example.com/lock\n\ngo 1.26.0\n\nexclude example.com/other v0.1.0\n",
			"go.mod: replace and exclude have no effect for users",
		},
		"a root that requires more": {
			"go.mod", "module example.com/lock\n\ngo 1.26.0\n\nrequire example.com/other v0.1.0\n",
			"go.mod: it requires example.com/other directly: what needs that goes into a nested module",
		},
		"a tool with replace": {
			"cmd/lock/go.mod", nested(tool, "require example.com/lock v0.1.0", "replace example.com/lock => ../../"),
			"cmd/lock/go.mod: replace or exclude: `go install` of a command refuses them",
		},
		"a tool with exclude": {
			"cmd/lock/go.mod", nested(tool, "require example.com/lock v0.1.0", "exclude example.com/other v0.1.0"),
			"cmd/lock/go.mod: replace or exclude: `go install` of a command refuses them",
		},
		"a tool that requires another root": {
			"cmd/lock/go.mod", nested(tool, "require example.com/lock v0.0.9"),
			"cmd/lock/go.mod: it requires example.com/lock v0.0.9: the root of the same commit is v0.1.0",
		},
		"a tool that requires a later root": {
			"cmd/lock/go.mod", nested(tool, "require example.com/lock v0.2.0"),
			"proof/go.mod: it requires example.com/lock v0.1.0: the root of the same commit is v0.2.0",
		},
		"a tool that does not require the root": {
			"cmd/lock/go.mod", nested(tool),
			"cmd/lock/go.mod: it does not require example.com/lock",
		},
		"a tool without a command": {
			"cmd/lock/main.go", "", "example.com/lock/cmd/lock has no packages",
		},
		"a proof with replace": {
			"proof/go.mod", nested(proof, "require example.com/lock v0.1.0", "replace example.com/lock => ../"),
			"proof/go.mod: replace or exclude",
		},
		"a proof that requires another root": {
			"proof/go.mod", nested(proof, "require example.com/lock v0.1.1"),
			"proof/go.mod: it requires example.com/lock v0.1.1: the root of the same commit is v0.1.0",
		},
		"no replace": {
			"metrics/go.mod", nested(metrics, "require example.com/lock v0.1.0"),
			"metrics/go.mod: no replace of example.com/lock by ../",
		},
		"a replace by another folder": {
			"metrics/go.mod", nested(metrics, "require example.com/lock v0.1.0", "replace example.com/lock => ../../lock"),
			"metrics/go.mod: no replace of example.com/lock by ../",
		},
		"a replace of one version": {
			"metrics/go.mod", nested(metrics, "require example.com/lock v0.1.0", "replace example.com/lock v0.1.0 => ../"),
			"metrics/go.mod: no replace of example.com/lock by ../",
		},
		"a replace of another module": {
			"metrics/go.mod", nested(metrics, "require example.com/lock v0.1.0", root, "replace example.com/other => ../other"),
			"metrics/go.mod: replace of example.com/other: it has no effect for users",
		},
		"an exclude": {
			"metrics/go.mod", nested(metrics, "require example.com/lock v0.1.0", root, "exclude example.com/other v0.1.0"),
			"metrics/go.mod: exclude has no effect for users",
		},
		"no version of the root": {
			"metrics/go.mod", nested(metrics, root),
			"metrics/go.mod: it does not require example.com/lock",
		},
		"a version of the root that will never be": {
			"metrics/go.mod", nested(metrics, "require example.com/lock v0.0.0", root),
			"metrics/go.mod: it requires example.com/lock v0.0.0: not a version that is released",
		},
		"a version of the root that is a commit": {
			"metrics/go.mod", nested(metrics, "require example.com/lock v0.0.0-20260101000000-0123456789ab", root),
			"not a version that is released",
		},
		"a module for users that needs one that is not": {
			"metrics/go.mod", nested(metrics, "require example.com/lock v0.1.0", "require example.com/lock/proof v0.1.0", root),
			"metrics/go.mod: it requires example.com/lock/proof, which is not for users",
		},
		"a newer Go than the root's": {
			"metrics/go.mod", strings.Replace(nested(metrics, "require example.com/lock v0.1.0", root), "1.26.0", "1.26.1", 1),
			"metrics/go.mod: go 1.26.1: the root has go 1.26.0",
		},
		"a module path that is not the folder's": {
			"metrics/go.mod", nested("example.com/metrics", "require example.com/lock v0.1.0", root),
			"module example.com/metrics: in this folder it has to be example.com/lock/metrics",
		},
		"no go.work":                 {"go.work", "", "go.work: there is none that a commit has"},
		"a go.work that git ignores": {".gitignore", "/go.work\n", "go.work: there is none that a commit has"},
		"a module that go.work does not list": {
			"other/go.mod", nested("example.com/lock/other", "require example.com/lock v0.1.0", root),
			"go.work: it does not list the module in other",
		},
		"a go.work that lists what is no module": {
			"go.work", strings.Replace(whole["go.work"], ")", "\t./gone\n)", 1),
			"go.work: it lists gone, which is no module of the repo",
		},
		"a go.work with replace": {
			"go.work", whole["go.work"] + "\nreplace example.com/other => ./other\n",
			"go.work: replace of example.com/other: users do not have it",
		},
		"a second go.work": {
			"metrics/go.work", "go 1.26.0\n\nuse .\n",
			"metrics/go.work: it hides the workspace of the repo",
		},
		"a file that is not there": {"obtain.lua", "", "pattern obtain.lua: no matching files found"},
		"a file that git ignores":  {".gitignore", "*.lua\n", "pattern obtain.lua: no matching files found"},
		"a file of another module": {
			"lock.go", "package lock\n\nimport _ \"embed\"\n\n//go:embed metrics/metrics.go\nvar Script string\n",
			"pattern metrics/metrics.go: no matching files found",
		},
		"names that differ in case": {"Obtain.lua", "return 2\n", "case-insensitive file name collision"},
		"an internal package of another module": {
			"metrics/metrics.go", "package metrics\n\nimport \"example.com/lock/internal/wire\"\n\nvar Size = wire.Size\n",
			"example.com/lock/metrics imports example.com/lock/internal/wire: it is internal to another module",
		},
		"a command beside a replace": {
			"metrics/cmd/show/main.go", "package main\n\nfunc main() {}\n",
			"The go.mod file for the module providing named packages contains one or\n\tmore replace directives",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantInstall(t, repoWith(t, c.file, c.content), c.want)
		})
	}
}

// A nested module that uses what the released version of the root lacks builds in the repo, and not for users.
func TestInstallNoticesReleasedVersions(t *testing.T) {
	t.Parallel()
	dir := repoWith(t, "", "")
	for _, args := range [][]string{
		{"add", "--all"},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--no-verify", "--message=first"},
		{"tag", "v0.1.0"},
		{"tag", "v0.2.0-rc.1"},
		{"tag", "metrics/v0.1.0"},
	} {
		check.Must[string](t)(git(t.Context(), dir, args...))
	}
	wantInstall(t, dir, "")
	require := func(version string, modules ...string) {
		for _, name := range modules {
			writeFile(t, dir, name, strings.Replace(whole[name], "v0.1.0", version, 1))
		}
	}
	writeFile(t, dir, "metrics/new.go", "package metrics\n") // the root has the files of its tag
	wantInstall(t, dir, "")
	writeFile(t, dir, "new.go", "package lock\n\nconst New = 1\n")
	wantInstall(t, dir, "cmd/lock/go.mod: it requires example.com/lock v0.1.0: the root of the same commit is v0.1.1")
	require("v0.1.1", "cmd/lock/go.mod", "proof/go.mod")
	wantInstall(t, dir, "")
	writeFile(t, dir, "metrics/metrics.go", "package metrics\n\nimport \"example.com/lock\"\n\nvar Size = lock.New\n")
	wantInstall(t, dir, "undefined: lock.New")
	for _, version := range []string{"v0.1.1", "v0.2.0"} { // neither is tagged, so it will be the next
		require(version, "cmd/lock/go.mod", "proof/go.mod", "metrics/go.mod")
		wantInstall(t, dir, "")
	}
}

// The root gets its tag before the tool. What a maintainer sees who forgets one of the two is this.
func TestRootFirst(t *testing.T) {
	t.Parallel()
	c := check.Must[checkout](t)(openCheckout(t.Context(), repoWith(t, "", "")))
	root, tool := c.offered[0], c.offered[1]
	for _, tt := range []struct {
		tagged, later version
		want          string
	}{
		{tool, root, "/example.com/lock/@v/v0.1.0.zip: "},
		{root, tool, "module example.com/lock@latest found (v0.1.0), but does not contain package example.com/lock/cmd/lock"},
	} {
		p := check.Must[proxy](t)(startProxy(t, []version{tt.tagged}))
		u := check.Must[user](t)(p.newUser(t))
		u.env = append(u.env, "GOPROXY="+fileURL(p.dir)) // no other, which would have the last word
		if _, err := u.run(t.Context(), "go", "install", tool.module+"@latest"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("with %s alone: got error %v, want %q in it", tt.tagged.module, err, tt.want)
		}
		check.NoError(t, tt.later.publish(p.dir))
		check.Must[string](t)(u.run(t.Context(), "go", "install", tool.module+"@latest"))
	}
}

// repoWith returns the folder of the small repo with one file more, changed or, without content, away.
func repoWith(t *testing.T, file, content string) string {
	t.Helper()
	redistest.Need(t, "git")
	dir := t.TempDir()
	check.Must[string](t)(git(t.Context(), dir, "init", "--quiet"))
	for name, text := range whole {
		if name != file {
			writeFile(t, dir, name, text)
		}
	}
	if content != "" {
		writeFile(t, dir, file, content)
	}
	return dir
}

func writeFile(t *testing.T, dir, name, content string) {
	t.Helper()
	check.NoError(t, user{dir: dir}.write(name, content))
}

// wantInstall installs all modules of a repo, and checks what stands in the way.
func wantInstall(t *testing.T, dir, want string) {
	t.Helper()
	err := installAll(t, dir)
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %v, want %q in it", err, want)
	}
}

func installAll(t *testing.T, dir string) error {
	t.Helper()
	c, err := openCheckout(t.Context(), dir)
	if err != nil {
		return err
	}
	p, err := startProxy(t, c.offered)
	if err != nil {
		return err
	}
	var found []error
	for _, m := range c.modules {
		if m.forUsers() {
			u := check.Must[user](t)(p.newUser(t))
			found = append(found, u.install(t.Context(), c.newest(m)))
		}
	}
	return errors.Join(found...)
}
