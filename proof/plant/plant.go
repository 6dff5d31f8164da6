// Package plant has what programs share that plant defects: files that stand in for those of the tree, commands of which nothing is
// left, and parts of a long list.
package plant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Main runs a program until it is done, or told to end. An error is written, and is the exit status 1.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Overlay writes into a folder what `go test -overlay` reads, and returns its path: which files stand in for which.
func Overlay(dir string, replace map[string]string) (string, error) {
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o644)
}

// InGroup makes a command the head of a process group of its own, which is killed as a whole when its context ends.
func InGroup(cmd *exec.Cmd) {
	setGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = 5 * time.Second
}

// Run runs a command in a group of its own. When it returns nothing that the command has started is left.
func Run(cmd *exec.Cmd) error {
	InGroup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = killGroup(cmd) // fails if nothing is left, which is what is wanted
	return err
}

// Git is what git says in a folder.
func Git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	InGroup(cmd)
	said, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(said)), nil
}

// A Part is one of several parts of a list: every fourth of it, say, so that the parts take about as long. It is a flag.
type Part struct{ At, Of int }

// Whole is the only part of all.
var Whole = Part{1, 1}

// String is as the flag is written.
func (p *Part) String() string { return fmt.Sprintf("%d/%d", p.At, p.Of) }

// Set reads a text such as 2/4.
func (p *Part) Set(text string) error {
	first, second, _ := strings.Cut(text, "/")
	at, err1 := strconv.Atoi(first)
	of, err2 := strconv.Atoi(second)
	if err1 != nil || err2 != nil || at < 1 || at > of {
		return errors.New("it has to be such as 2/4")
	}
	*p = Part{at, of}
	return nil
}

// Has reports whether what is at place i of the list, from 0, is in the part.
func (p *Part) Has(i int) bool { return i%p.Of == p.At-1 }
