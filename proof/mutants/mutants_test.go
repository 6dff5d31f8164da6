package main

import (
	"bytes"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
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

// tableOf is the table at the end of what was said.
func tableOf(out string) string { return out[max(0, strings.LastIndex(out, " made ")):] }

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

	s.alone = 0
	if together, err := run(t, s); err != nil || tableOf(together) != tableOf(out) {
		t.Error("another table if mutants are planted together:", err, together)
	}

	s.strict = true
	s.in = regexp.MustCompile("^sum.go$")
	if out, err := run(t, s); err == nil || !strings.Contains(out, "survived: sum.go:49: Unseen: delete") {
		t.Error("survivors do not fail the run:", err, out)
	}
}

// What is decided in a ledger is counted, and not tried again.
func TestLedger(t *testing.T) {
	s := fixture(t)
	s.ledger = filepath.Join(s.root, "verdicts")
	s.in = regexp.MustCompile("^sum.go$")
	rows := func(part string) (row string, tried bool) {
		if err := s.part.Set(part); err != nil {
			t.Fatal(err)
		}
		out, err := run(t, s)
		if err != nil {
			t.Fatal(err, out)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return lines[len(lines)-1], strings.Contains(out, " built in ")
	}
	rows("1/2")
	all, tried := rows("1/1")
	if !tried {
		t.Error("the second half was not tried")
	}
	if again, tried := rows("1/1"); again != all || tried {
		t.Errorf("got %q (tried: %t), want %q, and nothing tried", again, tried, all)
	}
	if err := os.WriteFile(s.ledger, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, s); err == nil {
		t.Error("a ledger that cannot be read is used:", out)
	}
}

// A test that notices nothing which another one does not notice is named, and not both of two that are alike.
func TestCompare(t *testing.T) {
	s := fixture(t)
	const more = `package fixture

import "testing"

func TestLess(t *testing.T) {
	if sum, _ := Sum(1, 2, 97); sum != 100 {
		t.Error(sum)
	}
}

func TestAlike(t *testing.T) { TestSum(t) }
`
	if err := os.WriteFile(filepath.Join(s.root, "more_test.go"), []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	s.in = regexp.MustCompile("^sum.go$")
	for each, want := range map[string]string{
		"TestSum|TestLess$":           ". TestLess",
		"^. Test(Sum|Less|Between)$":  ". TestLess",
		"TestSum$|TestBetween$":       "none",
		"Test(Sum|Alike)$|TestUnseen": ". TestAlike",
		"elsewhere":                   "none",
	} {
		s.each = regexp.MustCompile(each)
		out, err := run(t, s)
		if err != nil {
			t.Fatal(err, out)
		}
		if !strings.HasSuffix(out, "not needed for these mutants beside the others: "+want+"\n") {
			t.Errorf("%s: got %s, want %s", each, out, want)
		}
		if got := strings.Contains(out, "by . TestBetween alone: sum.go"); got != strings.Contains(each, "Between") {
			t.Errorf("%s: got %s", each, out)
		}
	}
}

// Lines that were changed have to be covered; without git this is said, and a sample is tried.
func TestChanged(t *testing.T) {
	s := fixture(t)
	s.branch, s.sample = "main", 1
	if out, err := run(t, s); err != nil || !strings.Contains(out, "there is no history") || !strings.Contains(out, "a sample of 1 of") {
		t.Error("without git:", err, out)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "x"}, {"checkout", "-q", "-b", "y"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Dir = s.root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	path := filepath.Join(s.root, "sum.go")
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(source, []byte("least = 7"), []byte("least = 8"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	s.sample = -1
	out, err := run(t, s)
	if err == nil || !strings.Contains(out, "3 mutants on lines that were changed") || strings.Count(out, "survived: sum.go:49: ") != 3 {
		t.Error("with git:", err, out)
	}
}

// The hash of a defect stays when its code is moved or laid out anew, and goes when the code is changed.
func TestHash(t *testing.T) {
	hash := func(source string) string {
		f, err := readLua("x.lua", source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range f.mutants() {
			if m.op == swaps {
				return m.hash
			}
		}
		t.Fatal("no operands are swapped")
		return ""
	}
	want := hash("local a = b\nif c - d then\n  e()\nend\nreturn 7\n")
	if got := hash("x() -- moved\nlocal  a = b\nif c -  d then e(f) end return 7\n"); got != want {
		t.Error("another hash for code that is only laid out anew")
	}
	for _, other := range []string{"local a = c\nif c - d then end return 7", "local a = b\nif c - d > 0 then end return 7", "if c - d then end"} {
		if hash(other) == want {
			t.Errorf("the same hash for %q", other)
		}
	}
}

// An entry for a defect that cannot be made any more is named.
func TestStale(t *testing.T) {
	s := fixture(t)
	s.stale = true
	if out, err := run(t, s); err != nil {
		t.Error(err, out)
	}
	path := filepath.Join(s.root, "proof", "mutants", "equivalent.txt")
	if err := os.WriteFile(path, []byte("012345678901 it was dropped.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, s); err == nil || !strings.Contains(err.Error(), "012345678901") {
		t.Error("not said:", err)
	}
}

// What the list of this repository says is about defects that there are.
func TestEquivalents(t *testing.T) {
	s, err := parseSettings([]string{"-root", filepath.Join("..", ".."), "-stale"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, s); err != nil {
		t.Error(err, out)
	}
}

func TestCompiles(t *testing.T) {
	if luac == "" {
		t.Skip("luac5.1 is not there")
	}
	if compiles(t.Context(), "local x = ") || !compiles(t.Context(), "local x = 1") {
		t.Error("wrong")
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
