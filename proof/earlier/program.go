package earlier

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// module is the path of the library.
const module = "github.com/seed-14de3678/redislock"

// counting is the package of the library with which callers are counted. An earlier version may have none, or another one.
const counting = "internal/turns"

// Build makes a program of the proof with the library of a commit, or of the tree if that is empty, and returns its path in dir,
// a folder that is removed later. root is the folder of the repository, and pkg that of the program below proof. It is built in
// a workspace of its own, which joins that library, but for its package turns, with the proof of the tree: so all versions are
// measured by the same code, and with the same go-redis. name tells versions apart, and flags are more ones for go build.
func Build(ctx context.Context, root, dir, name, commit, pkg string, flags ...string) (string, error) {
	library := root
	if commit != "" {
		library = filepath.Join(dir, name+"-tree")
		if err := CheckOut(ctx, root, commit, library); err != nil {
			return "", err
		}
		to := filepath.Join(library, counting)
		if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(filepath.Join(root, counting)))); err != nil {
			return "", err
		}
	}
	workspace := filepath.Join(dir, name+".work")
	if err := writeWorkspace(root, library, workspace); err != nil {
		return "", err
	}
	program := filepath.Join(dir, name)
	args := append([]string{"build", "-o", program}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...)
	cmd.Dir = filepath.Join(root, "proof")
	cmd.Env = append(os.Environ(), "GOWORK="+workspace)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of %s: %w\n%s", name, err, out)
	}
	return program, nil
}

// required finds the version of the library that the proof requires, which nobody can download before it is released.
var required = regexp.MustCompile(`(?m)^\tgithub\.com/seed-14de3678/redislock (v\S+)$`)

// writeWorkspace writes a workspace of a library and the proof of the tree, with what the workspace of the tree says of the
// version of Go and of what is downloaded.
func writeWorkspace(root, library, file string) error {
	texts := map[string]string{"go.work": "", "go.work.sum": "", "proof/go.mod": ""}
	for name := range texts {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		texts[name] = string(text)
	}
	found := required.FindStringSubmatch(texts["proof/go.mod"])
	if found == nil {
		return errors.New("proof/go.mod does not require the library")
	}
	language, _, _ := strings.Cut(texts["go.work"], "\nuse")
	text := fmt.Sprintf("%s\nuse (\n\t%q\n\t%q\n)\n\nreplace %s %s => %q\n",
		language, library, filepath.Join(root, "proof"), module, found[1], library)
	return errors.Join(os.WriteFile(file, []byte(text), 0o644),
		os.WriteFile(strings.TrimSuffix(file, ".work")+".work.sum", []byte(texts["go.work.sum"]), 0o644))
}
