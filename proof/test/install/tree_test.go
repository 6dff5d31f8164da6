package install_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A tree is what a commit has: the content of each regular file by its path, with slashes. Symbolic links are left out,
// as they are from the zip of a module.
type tree map[string][]byte

// readTree returns what a commit of a checkout would have: what git knows, and what is new and not ignored. Without git
// it is everything but the folders that git and make have made.
func readTree(ctx context.Context, dir string) (tree, error) {
	names, err := listTree(ctx, dir)
	if err != nil {
		return nil, err
	}
	t := tree{}
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue // deleted, and not yet in a commit; or a symbolic link
		}
		if err != nil {
			return nil, err
		}
		if t[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func listTree(ctx context.Context, dir string) (names []string, err error) {
	prefix, err := git(ctx, dir, "rev-parse", "--show-prefix")
	if err != nil || strings.TrimSpace(prefix) != "" { // no repo, or the repo of somebody else
		return walkTree(dir)
	}
	list, err := git(ctx, dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		names = append(names, name)
	}
	return names, err
}

func walkTree(dir string) (names []string, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git" || entry.Name() == ".bin":
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir():
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// treeAt returns what the commit of a tag has.
func treeAt(ctx context.Context, dir, tag string) (tree, error) {
	archive, err := git(ctx, dir, "archive", "--format=zip", "refs/tags/"+tag)
	if err != nil {
		return nil, err
	}
	files, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("the files of %s: %w", tag, err)
	}
	t := tree{}
	for _, file := range files.File {
		if !file.Mode().IsRegular() {
			continue
		}
		content, err := file.Open()
		if err != nil {
			return nil, err
		}
		if t[file.Name], err = io.ReadAll(content); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// git returns what a git command has written. A hook that runs the tests has variables set that lead to its own repo, so
// they are not passed on.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "GIT_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}
