package main

import (
	"bytes"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/mutants.txt anew")

// fixture is a copy of a module with Go and Lua in it.
func fixture(t *testing.T) settings {
	t.Helper()
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", "module"))); err != nil {
		t.Fatal(err)
	}
	s, err := parseSettings([]string{"-root", root, "-seed", "1"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, s settings) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := s.run(t.Context(), &out)
	return out.String(), err
}

// Each rule makes of the fixture what is written in testdata/mutants.txt.
func TestRules(t *testing.T) {
	s := fixture(t)
	s.list = true
	got, err := run(t, s)
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "mutants.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("want -, got +; -update writes it anew:\n%s", diff)
	}
}

// verdictOf finds what was said of the mutant that makes one line of another. Those that were caught are not shown.
func verdictOf(out, before, after string) string {
	verdict := string(caught)
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		if i > 0 && line == "  - "+before && lines[i+1] == "  + "+after {
			verdict, _, _ = strings.Cut(lines[i-1], ":")
		}
	}
	return verdict
}

func TestCampaign(t *testing.T) {
	s := fixture(t)
	before := filesOf(t, s.root)
	out, err := run(t, s)
	if err != nil {
		t.Fatal(err, out)
	}
	for _, c := range []struct{ before, after, want string }{
		{"sum += n", "(nothing)", "caught"},
		{"const most = 100", "const most = 101", "caught"},
		{"return low <= n && n < high", "return n <= low && n < high", "caught"},
		{"n--", "(nothing)", "caught"}, // it never ends
		{"l.least = 7", "l.least = 8", "survived"},
		{"l := limits{all: 3, name: \"all\"}", "l := limits{all: 4, name: \"all\"}", "caught"}, // it is known as equivalent
		{"return context.Cause(ctx)", "return context.Cause(context.Background())", "not covered"},
		{"redis.call('set', KEYS[1], value)", "redis.call('set', KEYS[1])", "caught"},
		{"n = n - 1", "n = (1) - n", "caught"},
		{"value = value .. '|'", "value = ('|') .. (value)", "survived"},
	} {
		if got := verdictOf(out, c.before, c.after); got != c.want {
			t.Errorf("%q becomes %q: %s, want %s", c.before, c.after, got, c.want)
		}
	}
	if !strings.Contains(out, "what is put around it does not compile") {
		t.Error("every place compiles")
	}
	if t.Failed() {
		t.Log(out)
	}
	after := filesOf(t, s.root)
	maps.DeleteFunc(after, func(path, _ string) bool { return strings.HasPrefix(path, ".bin/") })
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error("the tree was changed:", diff)
	}

	s.strict = true
	s.in = regexp.MustCompile("^sum.go$")
	if out, err := run(t, s); err == nil || !strings.Contains(out, "survived: sum.go:49: Unseen: delete") {
		t.Error("survivors do not fail the run:", err, out)
	}
}

// filesOf returns the texts of all files in a folder.
func filesOf(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
