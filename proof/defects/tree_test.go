package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What git ignores is not copied, what it does not know yet is.
func TestCopyTree(t *testing.T) {
	t.Parallel()
	s := smallTree(t)
	if err := os.Symlink("sum", filepath.Join(s.root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), s.root, s.scratch); err != nil {
		t.Fatal(err)
	}
	for name, text := range small {
		content, err := os.ReadFile(filepath.Join(s.scratch, name))
		if name == "ignored/file" {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || string(content) != text {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	if link, err := os.Readlink(filepath.Join(s.scratch, "link")); link != "sum" {
		t.Errorf("link: %q, %v", link, err)
	}
	if err := os.Remove(filepath.Join(s.root, "sum/sum.go")); err != nil { // git knows it still
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), s.root, t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := copyTree(t.Context(), t.TempDir(), t.TempDir()); err == nil {
		t.Error("without git: no error")
	}
}
