package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// copyTree copies what git knows of a tree, and what is new and not ignored.
func copyTree(ctx context.Context, root, to string) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("which files there are: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if err := copyFile(root, to, string(name)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// copyFile copies one file; one that was deleted and is still known to git is passed over.
func copyFile(root, to, name string) error {
	from, target := filepath.Join(root, name), filepath.Join(to, name)
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(link, target)
	case !info.Mode().IsRegular():
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(target, content, info.Mode().Perm())
}

// plant writes a mutant into a tree, and returns what takes it out again.
func (m mutant) plant(dir string) (restore func() error, err error) {
	changed, err := m.apply(dir)
	if err != nil {
		return nil, err
	}
	before := map[string]string{}
	for name := range changed {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		before[name] = string(content)
	}
	write := func(files map[string]string) error {
		var errs []error
		for name, text := range files {
			errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		return errors.Join(errs...)
	}
	return func() error { return write(before) }, write(changed)
}

// removeAll removes a scratch folder; a process that was killed may be in it for a moment yet.
func removeAll(dir string) error {
	var err error
	for range 20 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
