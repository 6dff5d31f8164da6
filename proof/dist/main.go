// Dist builds what users without Go download: the tool for each system, as one static program in an archive with the manual
// pages, the completions and the licence, and the checksums of all archives.
//
//	make dist                  # into .bin/dist
//	make dist VERSION=v1.2.3   # the version that it calls itself; otherwise that of the commit
//
// The same sources, the same version and the same Go give the same bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
)

// A target is what a program is built for.
type target struct{ system, machine string }

var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

const (
	tool         = "./cmd/redislock"
	versionOfCLI = "github.com/seed-14de3678/redislock/cmd/redislock/internal/cli.version"
)

// A job is one run.
type job struct {
	root    string // of the checkout
	out     string // the folder of the archives
	version string
	targets []target
	cgo     string // CGO_ENABLED
}

func main() {
	j := job{targets: targets, cgo: "0"}
	flag.StringVar(&j.root, "root", ".", "the `folder` of the checkout")
	flag.StringVar(&j.out, "o", ".bin/dist", "the `folder` to write to; what is in it is removed")
	flag.StringVar(&j.version, "version", "", "the version that the tool calls itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := j.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run makes all archives. If one cannot be made there are none.
func (j job) run(ctx context.Context) error {
	if j.version == "" || strings.ContainsAny(j.version, " /\\\"'") {
		return fmt.Errorf("%q is no version", j.version)
	}
	scratch, err := os.MkdirTemp("", "dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // it is in the folder for such things
	common, err := j.common(ctx, scratch)
	if err != nil {
		return err
	}
	packed := map[string][]byte{}
	for _, t := range j.targets {
		program, err := j.build(ctx, t, scratch)
		if err != nil {
			return err
		}
		name, content, err := j.pack(t, append([]file{program}, common...))
		if err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
		packed[name] = content
	}
	packed["SHA256SUMS"] = sums(packed)
	return j.write(packed)
}

// common are the files of every archive. The program for this machine writes them.
func (j job) common(ctx context.Context, scratch string) ([]file, error) {
	licence, err := os.ReadFile(filepath.Join(j.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	here := target{runtime.GOOS, runtime.GOARCH}
	if _, err := j.build(ctx, here, scratch); err != nil {
		return nil, err
	}
	files := []file{{"LICENSE", licence, 0o644}}
	for _, made := range madeByTool() {
		content, err := exec.CommandContext(ctx, here.path(scratch), made.args...).Output()
		if err != nil {
			return nil, fmt.Errorf("redislock %s: %w", strings.Join(made.args, " "), err)
		}
		files = append(files, file{made.name, content, 0o644})
	}
	return files, nil
}

// A madeFile is what the tool writes of itself.
type madeFile struct {
	name string
	args []string
}

// madeByTool are the manual pages, of the tool and of each command for people, and the completions.
func madeByTool() []madeFile {
	files := []madeFile{{"man/redislock.1", []string{"man"}}}
	for _, command := range []string{"break", "demo", "doctor", "ls", "run", "show", "tree", "tune", "version", "wait", "watch"} {
		files = append(files, madeFile{"man/redislock-" + command + ".1", []string{"man", command}})
	}
	return append(
		files,
		madeFile{"completions/redislock.bash", []string{"completion", "bash"}},
		madeFile{"completions/_redislock", []string{"completion", "zsh"}},
		madeFile{"completions/redislock.fish", []string{"completion", "fish"}},
	)
}

// path is where the program for a target is built.
func (t target) path(dir string) string { return filepath.Join(dir, t.system+"-"+t.machine) }

// build builds the program for a target.
func (j job) build(ctx context.Context, t target, scratch string) (file, error) {
	name := "redislock"
	if t.system == "windows" {
		name += ".exe"
	}
	path := t.path(scratch)
	if content, err := os.ReadFile(path); err == nil {
		return file{name, content, 0o755}, nil // it was built already
	}
	// By the workspace the tool gets the library of this checkout, and not of the version that its go.mod requires.
	workspace, err := filepath.Abs(filepath.Join(j.root, "go.work"))
	if err != nil {
		return file{}, err
	}
	err = j.command(ctx, []string{"CGO_ENABLED=" + j.cgo, "GOOS=" + t.system, "GOARCH=" + t.machine, "GOFLAGS=", "GOWORK=" + workspace},
		"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X "+versionOfCLI+"="+j.version, "-o", path, tool)
	if err != nil {
		return file{}, err
	}
	content, err := os.ReadFile(path)
	return file{name, content, 0o755}, err
}

// command runs the go command.
func (j job) command(ctx context.Context, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = j.root, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// write puts the files into the folder, in place of those of another run.
func (j job) write(files map[string][]byte) error {
	if err := os.RemoveAll(j.out); err != nil {
		return err
	}
	if err := os.MkdirAll(j.out, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(j.out, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
