package install_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Each module can be had with `go get`, all of its packages can be imported, and programs of it and with it do their work.
func TestInstall(t *testing.T) {
	t.Parallel()
	c := check.Must[checkout](t)(openCheckout(t.Context(), filepath.Join("..", "..", "..")))
	p := check.Must[proxy](t)(startProxy(t, c.offered))
	for _, m := range c.modules {
		if !m.forUsers() {
			continue
		}
		t.Run(cmp.Or(strings.TrimPrefix(m.dir, "."), "root"), func(t *testing.T) {
			t.Parallel()
			c.needOthers(t, m)
			u := check.Must[user](t)(p.newUser(t))
			if m.dir == "." || isTool(m.dir) {
				check.NoError(t, u.install(t.Context(), c.newest(m)))
				if isTool(m.dir) {
					testCommand(t, u, c.newest(m).name, c.newest(c.modules[0]).name)
				}
				return
			}
			program := check.Must[[]byte](t)(os.ReadFile(filepath.Join("testdata", m.dir, "main.go")))
			check.NoError(t, u.write("uses/main.go", string(program)))
			check.NoError(t, u.install(t.Context(), c.newest(m)))
			check.Must[string](t)(u.run(t.Context(), "go", "build", "-o", "bin/uses", "./uses"))
			check.Must[string](t)(u.run(t.Context(), "bin/uses", redistest.StartMini(t).Addr()))
		})
	}
	t.Run("README", func(t *testing.T) {
		t.Parallel()
		c.needOthers(t, c.modules[0])
		testReadme(t, string(c.files["README.md"]), check.Must[user](t)(p.newUser(t)))
	})
}

func testCommand(t *testing.T, u user, version, library string) {
	t.Helper()
	said := check.Must[string](t)(u.run(t.Context(), "bin/redislock", "version"))
	if want := "redislock " + version + "\nlibrary " + library + "\n"; !strings.HasPrefix(said, want) {
		t.Errorf("got %q, want %q at its beginning", said, want)
	}
	got := check.Must[string](t)(u.run(t.Context(), "bin/redislock", "demo", "conflict"))
	if want := "1 of 1 act as promised"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

// testReadme does what somebody does who has read the beginning of the README.
func testReadme(t *testing.T, readme string, u user) {
	t.Helper()
	command := regexp.MustCompile("`go (get [^`]+)`").FindStringSubmatch(readme)
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(readme, -1)
	if command == nil || len(blocks) != 2 {
		t.Fatalf("no `go get …`, or %d blocks of Go in place of 2", len(blocks))
	}
	check.Must[string](t)(u.run(t.Context(), "go", strings.Fields(command[1])...))
	for i, imports := range [][]string{
		{"context", "errors", "fmt", "os", "time", "github.com/redis/go-redis/v9", "github.com/seed-14de3678/redislock"},
		{
			"context", "errors", "fmt", "os", "time", "github.com/redis/go-redis/v9",
			"github.com/seed-14de3678/redislock", "github.com/seed-14de3678/redislock/fencing",
		},
	} {
		check.NoError(t, u.write("main.go", "package main\n\nimport (\n\t\""+strings.Join(imports, "\"\n\t\"")+
			"\"\n)\n\nfunc main() {\n\trdb := redis.NewClient(&redis.Options{Addr: os.Args[1]})\n\tdefer rdb.Close()\n"+blocks[i][1]+"}\n"))
		check.Must[string](t)(u.run(t.Context(), "go", "build", "-o", "bin/program", "."))
		got := check.Must[string](t)(u.run(t.Context(), "bin/program", redistest.StartMini(t).Addr()))
		if want := "order and stock are ours\n"; got != want {
			t.Errorf("block %d: got %q, want %q", i, got, want)
		}
	}
}

// install gets a version of a module, installs its commands, and builds a package that imports all those of the module. It
// also gets what the programs of the user need.
func (u user) install(ctx context.Context, v version) error {
	if _, err := u.run(ctx, "go", "get", v.module+"@latest"); err != nil {
		return err
	}
	packages, err := u.list(ctx, "-e", v.module+"/...")
	if err != nil {
		return err
	}
	var imports strings.Builder
	commands := 0
	for _, p := range packages {
		switch {
		case p.isInternal() || p.Module == nil || p.Module.Path != v.module || len(p.GoFiles) == 0:
		case p.Name != "main":
			fmt.Fprintf(&imports, "import _ %q\n", p.ImportPath)
		default:
			if _, err := u.run(ctx, "go", "install", p.ImportPath+"@latest"); err != nil {
				return err
			}
			commands++
		}
	}
	if imports.Len() == 0 && commands == 0 {
		return fmt.Errorf("%s has no packages", v.module)
	}
	if err := u.write("imports/imports.go", "package imports\n\n"+imports.String()); err != nil {
		return err
	}
	if _, err := u.run(ctx, "go", "get", "./..."); err != nil {
		return err
	}
	if _, err := u.run(ctx, "go", "build", "./imports"); err != nil {
		return err
	}
	return errors.Join(u.checkVersion(ctx, v), u.checkInternal(ctx, v), u.checkSums(v))
}

// checkVersion returns an error if the user has something else than the version.
func (u user) checkVersion(ctx context.Context, v version) error {
	got, err := u.run(ctx, "go", "list", "-m", v.module)
	if want := v.module + " " + v.name + "\n"; err == nil && got != want {
		err = fmt.Errorf("got %q, want %q", got, want)
	}
	return err
}

// checkInternal returns an error if a package of the module imports an internal one of another module. The go command
// lets a nested module do that; but what is internal changes without notice, and each user has their own versions of both.
// A tool may do it with the root: whoever installs it has the version of the root that it requires, which is of the same
// commit.
func (u user) checkInternal(ctx context.Context, v version) error {
	packages, err := u.list(ctx, "-deps", v.module+"/...")
	if err != nil {
		return err
	}
	root := strings.TrimSuffix(v.module, "/"+v.dir)
	var found []error
	for _, p := range packages {
		if p.Module == nil || p.Module.Path != v.module {
			continue
		}
		for _, imported := range packages {
			if imported.isInternal() && imported.Module != nil && imported.Module.Path != v.module &&
				slices.Contains(p.Imports, imported.ImportPath) && (!isTool(v.dir) || imported.Module.Path != root) {
				found = append(found, fmt.Errorf("%s imports %s: it is internal to another module", p.ImportPath, imported.ImportPath))
			}
		}
	}
	return errors.Join(found...)
}

// checkSums returns an error if the user has got another content of some version than those who work on the module.
func (u user) checkSums(v version) error {
	sums, err := os.ReadFile(filepath.Join(u.dir, "go.sum"))
	if err != nil {
		return err
	}
	want := map[string]string{}
	for line := range strings.Lines(string(v.files[path.Join(v.dir, "go.sum")])) {
		name, sum := splitSum(line)
		want[name] = sum
	}
	var found []error
	for line := range strings.Lines(string(sums)) {
		name, got := splitSum(line)
		if want := want[name]; want != "" && got != want {
			found = append(found, fmt.Errorf("%s: got %s, want %s", name, got, want))
		}
	}
	return errors.Join(found...)
}

func splitSum(line string) (name, sum string) {
	line = strings.TrimSpace(line)
	i := strings.LastIndexByte(line, ' ')
	return line[:i+1], line[i+1:]
}
