package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

func TestCompiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, content string
		want          map[string]string // by system; nothing: it compiles there
	}{
		"fine":                           {"more.go", "package p\n\nimport _ \"net\"\n", nil},
		"a name that one system lacks":   {"more.go", "package p\n\nimport \"syscall\"\n\nvar _ = syscall.Mkfifo\n", map[string]string{"windows": "undefined: syscall.Mkfifo"}},
		"a file of one system":           {"more_windows.go", "package p\n\nfunc f() int { return \"\" }\n", map[string]string{"windows": "cannot use"}},
		"a test of one system":           {"more_darwin_test.go", "package p\n\nvar _ int = \"\"\n", map[string]string{"darwin": "cannot use"}},
		"a test from outside":            {"more_darwin_test.go", "package p_test\n\nimport \"example.org/p\"\n\nvar _ = p.None\n", map[string]string{"darwin": "undefined: p.None"}},
		"what only a test declares":      {"more_test.go", "package p\n\nfunc Only() {}\n", nil},
		"a package that is not there":    {"more.go", "package p\n\nimport _ \"example.org/p/none\"\n", map[string]string{"darwin": "example.org/p/none", "windows": "example.org/p/none"}},
		"a file that cannot be parsed":   {"more_windows.go", "package p\n\nfunc {\n", map[string]string{"windows": "expected 'IDENT'"}},
		"an error of this system alone":  {"more_linux.go", "package p\n\nvar _ int = \"\"\n", nil},
		"two declarations of one system": {"more_darwin.go", "package p\n\nfunc g() {}\n", map[string]string{"darwin": "redeclared"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, content := range map[string]string{
				"go.mod": "module example.org/p\n\ngo 1.25\n", "p.go": "package p\n\nfunc g() {}\n\nvar _ = g\n", test.file: test.content,
			} {
				check.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
			}
			for _, system := range []string{"darwin", "windows"} {
				err := compiles(t.Context(), dir, system, "./...")
				switch want := test.want[system]; {
				case want == "":
					check.NoError(t, err)
				case err == nil || !strings.Contains(err.Error(), want):
					t.Errorf("%s: got %v, want %q", system, err, want)
				}
			}
		})
	}
}
