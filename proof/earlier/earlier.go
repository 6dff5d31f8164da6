// Package earlier takes an earlier commit of this repository out of git, so that it can be built and measured beside the tree.
package earlier

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrMissing is the error of a repository that does not have a commit.
var ErrMissing = errors.New("if the clone is shallow, git fetch --unshallow brings it")

// CheckOut writes the files of a commit into a folder, which it makes. root is the folder of the repository. A clone that is
// shallow may lack the commit; then the error is an ErrMissing, and says how to get it.
func CheckOut(ctx context.Context, root, commit, to string) error {
	if err := exec.CommandContext(ctx, "git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		return fmt.Errorf("the repository has no commit %s (%w): %w", commit, err, ErrMissing)
	}
	archive := exec.CommandContext(ctx, "git", "-C", root, "archive", commit)
	var stderr bytes.Buffer
	archive.Stderr = &stderr
	out, err := archive.Output()
	if err != nil {
		return fmt.Errorf("git archive: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return unpack(to, tar.NewReader(bytes.NewReader(out)))
}

func unpack(to string, from *tar.Reader) error {
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			continue
		}
		content, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		file := filepath.Join(to, header.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
}
