package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Runs in which tests that a page names did not run, were skipped, or failed.
func TestNamedTests(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "proof.md")
	if err := os.WriteFile(page, []byte("| tests | by hand |\n|---|---|\n"+
		"| `. TestA`, `quorum TestB`, `TestC/part` | `. TestByHand` |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const ran, didNot, wasSkipped = "", "%p: %t did not run\n", "%p: %t was skipped\n"
	sub := passes(quorum, "TestC/part", 0) + say("pass", quorum, "TestC")
	for name, test := range map[string]struct {
		in   string
		lack map[string]string // by test
	}{
		"all run":              {passes(root, "TestA", 0) + passes(quorum, "TestB", 0) + sub, nil},
		"one is missing":       {passes(quorum, "TestB", 0) + sub, map[string]string{". TestA": didNot}},
		"of another package":   {passes(quorum, "TestA", 0) + passes(quorum, "TestB", 0) + sub, map[string]string{". TestA": didNot}},
		"one is skipped":       {skips(root, "TestA", "slow") + passes(quorum, "TestB", 0) + sub, map[string]string{". TestA": wasSkipped}},
		"a subtest is missing": {passes(root, "TestA", 0) + passes(quorum, "TestB", 0) + passes(quorum, "TestC", 0), map[string]string{"quorum TestC/part": didNot}},
		"a subtest is skipped": {
			passes(root, "TestA", 0) + passes(quorum, "TestB", 0) + skips(quorum, "TestC/part", "slow") + say("pass", quorum, "TestC"),
			map[string]string{"quorum TestC/part": wasSkipped},
		},
		"all subtests are skipped": {
			skips(root, "TestA/x/y", "slow") + say("pass", root, "TestA/x") + skips(root, "TestA/z", "slow") + say("pass", root, "TestA") +
				passes(quorum, "TestB", 0) + sub,
			map[string]string{". TestA": wasSkipped},
		},
		"one of the subtests is not": {
			skips(root, "TestA/x", "slow") + passes(root, "TestA/z", 0) + say("pass", root, "TestA") + passes(quorum, "TestB", 0) + sub, nil,
		},
		"skipped in another run": {
			skips(root, "TestA", "slow") + passes(root, "TestA", 0) + skips(root, "TestA", "slow") + passes(quorum, "TestB", 0) + sub, nil,
		},
		"two are missing": {passes(root, "TestA", 0) + sub + say("run", quorum, "TestB"), map[string]string{"quorum TestB": didNot}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ""
			for of, text := range test.lack {
				want += strings.NewReplacer("%p", page, "%t", of).Replace(text)
			}
			got, good := lack(t, page, true, test.in)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if good != (test.lack == nil) {
				t.Errorf("got good %t, want what is missing to be a failure", good)
			}
			if got, good := lack(t, page, false, test.in); got != "" || !good {
				t.Errorf("got %q, good %t where not all has to run", got, good)
			}
		})
	}
}

// lack is what a run says of the page, and whether the run is good.
func lack(t *testing.T, page string, strict bool, in string) (lines string, good bool) {
	t.Helper()
	wanted, err := readWanted(page, "", strict)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r, err := summarize(strings.NewReader(in), &out, wanted)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, page) {
			lines += line
		}
	}
	return lines, r.good()
}

// A test that fails has run: the run fails for it, and the page lacks nothing.
func TestNamedTestFails(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "proof.md")
	if err := os.WriteFile(page, []byte("| tests |\n|---|\n| `. TestA` |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := say("run", root, "TestA") + say("fail", root, "TestA") + say("fail", root, "")
	if lines, good := lack(t, page, true, in); lines != "" || good {
		t.Errorf("got %q, good %t", lines, good)
	}
}

// Where not everything has to run, what did not run stands in the list at the end.
func TestNamedTestsAreListed(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "proof.md")
	if err := os.WriteFile(page, []byte("| tests |\n|---|\n| `. TestA`, `. TestB` |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wanted, err := readWanted(page, "", false)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if _, err := summarize(strings.NewReader(passes(root, "TestB", 0)), &out, wanted); err != nil {
		t.Fatal(err)
	}
	want := "not run: what " + page + " names (1: . TestA did not run)\n1 passed, 0 failed, 1 skipped\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// Several pages ask for the tests of each.
func TestNamedByPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var pages []string
	for name, test := range map[string]string{"proof.md": "TestA", "evidence.md": "TestB"} {
		pages = append(pages, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte("| tests |\n|---|\n| `. "+test+"` |"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wanted, err := readWanted(strings.Join(pages, ","), "", false)
	if err != nil || len(wanted.tests) != 2 {
		t.Errorf("got error %v, and %v", err, wanted)
	}
}

// A page that is not there, or names no test, is a fault of the run.
func TestNamedBadPage(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "proof.md")
	if err := os.WriteFile(empty, []byte("# Proof\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{empty, empty + ".not"} {
		if _, err := readWanted(page, "", true); err == nil {
			t.Errorf("%s: got no error", page)
		}
	}
}

// A module of which no test has ended fails the run, also where not everything has to run.
func TestModulesRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{
		"go.mod", "a/go.mod", "a/a.go", "b/c/go.mod", "ab/x.go", ".git/x/go.mod", ".bin/x/go.mod", "d/testdata/x/go.mod",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modules, err := modulesIn(root)
	if want := []string{"a", "b/c"}; err != nil || !slices.Equal(modules, want) {
		t.Fatalf("modules %q, error %v, want %q", modules, err, want)
	}
	const module = "example.org/owner/lock/"
	for in, want := range map[string]string{
		passes(module+"a", "TestA", 0) + passes(module+"b/c/d", "TestB", 0): "",
		passes(module+"a/b", "TestA", 0) + skips(module+"b/c", "TestB", ""): "",
		passes(module+"ab", "TestA", 0) + passes(module+"b/c", "TestB", 0):  "no test of the module a ran\n",
		passes(module+"a", "TestA", 0) + say("start", module+"b/c", ""):     "no test of the module b/c ran\n",
		passes(module+"b", "TestA", 0):                                      "no test of the module a ran\nno test of the module b/c ran\n",
	} {
		wanted := nothing(t)
		wanted.strict, wanted.modules = false, modules
		var out strings.Builder
		r, err := summarize(strings.NewReader(in), &out, wanted)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), want) || strings.Count(out.String(), "module") != strings.Count(want, "module") {
			t.Errorf("%s\ngot %s, want %s", in, &out, want)
		}
		if r.good() != (want == "") {
			t.Errorf("%s\ngot good %t", in, r.good())
		}
	}
}

// Whoever has the page has the modules of this tree. Not parallel: it changes the working directory.
func TestModulesOfTheTree(t *testing.T) {
	t.Chdir("../..")
	wanted, err := readWanted("docs/proof.md", "", false)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"cmd/redislock", "proof", "redislockgocron", "redislockotel"}; !slices.Equal(wanted.modules, want) {
		t.Errorf("modules %q, want %q", wanted.modules, want)
	}
}
