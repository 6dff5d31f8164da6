package install_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A user works in a folder of its own, with nothing but a go command and the modules that a proxy has.
type user struct {
	dir string
	env []string
}

// newUser makes a user with an empty module.
func (p proxy) newUser(t *testing.T) (user, error) {
	t.Helper()
	u := user{dir: t.TempDir()}
	u.env = append(p.env[:len(p.env):len(p.env)], "PWD="+u.dir, "GOBIN="+filepath.Join(u.dir, "bin"))
	_, err := u.run(t.Context(), "go", "mod", "init", "example.com/user")
	return u, err
}

// atOnce is room for two commands, none of which compiles two packages at once (-p=1): tests of other packages that run
// meanwhile need the processors, too.
var atOnce = make(chan struct{}, 2)

// run returns what a command has written to its standard output. A name with a slash is one in the user's folder.
func (u user) run(ctx context.Context, name string, args ...string) (string, error) {
	if strings.Contains(name, "/") {
		name = filepath.Join(u.dir, filepath.FromSlash(name))
	}
	atOnce <- struct{}{}
	defer func() { <-atOnce }()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = u.dir, u.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out), err
}

// write writes a file of the user's.
func (u user) write(name, content string) error {
	file := filepath.Join(u.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(content), 0o644)
}

// A listed package is what `go list -json` says of it.
type listed struct {
	ImportPath, Name string
	GoFiles, Imports []string
	Module           *struct{ Path string }
}

func (p listed) isInternal() bool { return strings.Contains("/"+p.ImportPath+"/", "/internal/") }

// list returns what `go list` says.
func (u user) list(ctx context.Context, args ...string) (packages []listed, err error) {
	out, err := u.run(ctx, "go", append([]string{"list", "-json=ImportPath,Name,GoFiles,Imports,Module"}, args...)...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(strings.NewReader(out)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
	return packages, nil
}
