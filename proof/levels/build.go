package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seed-14de3678/redislock/proof/earlier"
)

const (
	module        = "github.com/seed-14de3678/redislock"
	workerPackage = module + "/proof/levels/worker"
)

// build makes the worker of a version, and returns its path. root is the folder of the repository, dir one that is removed
// later. The worker is built in a workspace of its own, which joins the library of that version with the proof of the tree: so
// all versions are measured by the same code, and with the same go-redis.
func build(ctx context.Context, root, dir string, v version) (string, error) {
	library := root
	if v.commit != "" {
		library = filepath.Join(dir, v.name+"-tree")
		if err := earlier.CheckOut(ctx, root, v.commit, library); err != nil {
			return "", err
		}
	}
	workspace := filepath.Join(dir, v.name+".work")
	if err := writeWorkspace(root, library, workspace); err != nil {
		return "", err
	}
	program := filepath.Join(dir, v.name)
	args := []string{"build", "-o", program}
	if v.overlay != "" {
		args = append(args, "-overlay", v.overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, workerPackage)...)
	cmd.Dir = filepath.Join(root, "proof")
	cmd.Env = append(os.Environ(), "GOWORK="+workspace)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of %s: %w\n%s", v.name, err, out)
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
