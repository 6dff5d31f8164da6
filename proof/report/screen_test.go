package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pageOf writes a page.
func pageOf(t *testing.T, text string) string {
	t.Helper()
	page := filepath.Join(t.TempDir(), "promises.md")
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return page
}

// ends is what a run says of a page of promises, and whether it is good.
func ends(t *testing.T, page string, strict bool, in string) (lines []string, good bool) {
	t.Helper()
	wanted, err := readWanted("", page, strict)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r, err := summarize(strings.NewReader(in), &out, wanted)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), r.good()
}

// The end of a run names each promise, with a mark whether all of its tests ran and passed.
func TestPromisesAreNamed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 40)
	page := pageOf(t, "# Promises\n\n> **A lock** is\n> live.\n\n- Tests: `. TestA`, `quorum TestB`\n\n> "+long+"\n\n- Tests: `quorum TestC`\n")
	const head, no = "what the library promises, and whether this run has shown it (%p):", "with CI=true it is a failure that %n promises are not shown"
	yes, words := "  shown           A lock is live.", "  shown           "+strings.TrimSpace(strings.Repeat("word ", 16))+" w…"
	a, b, c := passes(root, "TestA", 0), passes(quorum, "TestB", 0), passes(quorum, "TestC", 0)
	fails := func(name string) string {
		return say("run", quorum, name) + say("fail", quorum, name) + say("fail", quorum, "")
	}
	for name, test := range map[string]struct {
		in      string
		want    []string // the promises
		lacking int
	}{
		"all shown":          {a + b + c, []string{yes, words}, 0},
		"one is not run":     {a + c, []string{"  not shown here  A lock is live. (did not run: quorum TestB)", words}, 1},
		"of another package": {passes(quorum, "TestA", 0) + b + c, []string{"  not shown here  A lock is live. (did not run: . TestA)", words}, 1},
		"one is skipped": {
			a + skips(quorum, "TestB", "not run: needs redis-server in PATH; install it") + c,
			[]string{"  not shown here  A lock is live. (needs redis-server: quorum TestB)", words},
			1,
		},
		"all of its subtests are": {
			a + skips(quorum, "TestB/x", "slow") + skips(quorum, "TestB/y", "slower") + say("pass", quorum, "TestB") + c,
			[]string{"  not shown here  A lock is live. (slow: quorum TestB)", words},
			1,
		},
		"one of its subtests is": {a + skips(quorum, "TestB/x", "slow") + passes(quorum, "TestB/y", 0) + b + c, []string{yes, words}, 0},
		"one fails, another is not run": {
			fails("TestB") + c, []string{"  FAILED          A lock is live. (quorum TestB)", words}, 1,
		},
		"one fails in one of two runs": {
			a + b + c + fails("TestB") + b, []string{"  FAILED          A lock is live. (quorum TestB)", words}, 1,
		},
		"a package ends early": {
			a + b + say("fail", quorum, ""),
			[]string{yes, "  not shown here  " + strings.Repeat("word ", 9) + "word… (package failed: quorum TestC)"},
			1,
		},
		"a long reason": {
			a + b + skips(quorum, "TestC", long),
			[]string{yes, "  not shown here  " + strings.Repeat("word ", 5) + "word… (" + strings.Repeat("word ", 9) + "wo…)"},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, strict := range []bool{false, true} {
				lines, good := ends(t, page, strict, test.in)
				at := slices.Index(lines, strings.ReplaceAll(head, "%p", page))
				if at < 0 || len(lines) < at+3 {
					t.Fatalf("no promises in %q", lines)
				}
				if diff := cmp.Diff(test.want, lines[at+1:at+3]); diff != "" {
					t.Errorf("promises (-want +got):\n%s", diff)
				}
				for _, line := range lines[at+1 : at+3] {
					if n := len([]rune(line)); n > width {
						t.Errorf("%d columns: %s", n, line)
					}
				}
				failure := strict && test.lacking > 0
				if got := slices.Contains(lines, strings.ReplaceAll(no, "%n", fmt.Sprint(test.lacking))); got != failure {
					t.Errorf("with all that has to run %t: got the line on the failure %t in %q", strict, got, lines)
				}
				if want := !failure && !strings.Contains(test.in, `"fail"`); good != want {
					t.Errorf("with all that has to run %t: got good %t", strict, good)
				}
			}
		})
	}
}

// A promise without tests is not shown.
func TestPromiseWithoutTests(t *testing.T) {
	t.Parallel()
	lines, good := ends(t, pageOf(t, "> A.\n"), true, passes(root, "TestA", 0))
	if !slices.Contains(lines, "  not shown here  A. (no test is named)") || good {
		t.Errorf("got good %t, %q", good, lines)
	}
}

// A page that promises nothing, or is not there, and two pages at once are a fault of the run.
func TestPromisesBadPage(t *testing.T) {
	t.Parallel()
	page := pageOf(t, "> A.\n\n- Tests: `. TestA`\n")
	for _, test := range []struct{ proof, promises string }{
		{"", pageOf(t, "| tests |\n|---|\n| `. TestA` |\n")}, {"", page + ".not"}, {page, page},
	} {
		if _, err := readWanted(test.proof, test.promises, false); err == nil {
			t.Errorf("%+v: got no error", test)
		}
	}
}

// The folder of a package is its path without that of the repository, of whichever module it is.
func TestFolders(t *testing.T) {
	t.Parallel()
	const repository = "github.com/seed-14de3678/redislock"
	for pkg, want := range map[string]string{
		repository: ".", repository + "/test/hammer": "test/hammer", repository + "/cmd/redislock": "cmd/redislock",
		repository + "/cmd/redislock/internal/cli": "cmd/redislock/internal/cli", repository + "/proof/test/line": "proof/test/line",
		repository + "/redislockotel": "redislockotel", repository + "/redislockgocron": "redislockgocron",
	} {
		if got := folder(pkg); got != want {
			t.Errorf("%s: got %q, want %q", pkg, got, want)
		}
	}
}

// However much was not run, and whatever failed, the end is one screen, and what it has no room for stands in front of it.
func TestLastScreenIsOneScreen(t *testing.T) {
	t.Parallel()
	var list, in strings.Builder
	for i := range 13 {
		fmt.Fprintf(&list, "> Sentence %d.\n\n- Tests: `. TestP%d`\n\n", i, i)
		in.WriteString(passes(root, fmt.Sprintf("TestP%d", i), 0))
	}
	const missing = "not run: the race detector: no C compiler, or CGO_ENABLED=0\n"
	page := pageOf(t, list.String())
	for _, reasons := range []int{0, 1, 8, 9, 40} {
		text := in.String()
		for i := range reasons {
			text += skips(root, fmt.Sprintf("TestQ%d", i), fmt.Sprintf("reason %d", i))
		}
		for i := range 30 {
			name := fmt.Sprintf("TestWithALongName%d", i)
			text += say("run", root, name) + say("fail", root, name)
		}
		text += say("fail", root, "") + missing
		lines, good := ends(t, page, false, text)
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "what the library promises") })
		if at < 0 || len(lines)-at > height || good {
			t.Fatalf("%d reasons: the promises begin in line %d of %d, good %t", reasons, at, len(lines), good)
		}
		screen := strings.Join(lines[at:], "\n")
		for _, want := range []string{"Sentence 12.", "no C compiler", "get it: apt-get install gcc", "failed: lock TestWithALongName0, ", "13 passed, 30 failed"} {
			if !strings.Contains(screen, want) {
				t.Errorf("%d reasons: the screen lacks %q:\n%s", reasons, want, screen)
			}
		}
		for i := range reasons {
			if want := fmt.Sprintf("not run: reason %d (1: TestQ%d)", i, i); !slices.Contains(lines, want) {
				t.Errorf("%d reasons: no line %q", reasons, want)
			}
		}
		if got := strings.Contains(screen, "more reasons, which stand above"); got != (reasons > 6) {
			t.Errorf("%d reasons: says %t that there are more:\n%s", reasons, got, screen)
		}
	}
}

// For each thing that may be lacking the end says how to get it, and counts together what lacks the same.
func TestHowToGetWhatIsLacking(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string][]string{
		"not run: needs redis-server in PATH; install it":       {"not run: needs redis-server (2: TestA, TestB)", "redis-server, brew install redis"},
		"not run: needs redis-cli in PATH; install it":          {"not run: needs redis-cli (2: TestA, TestB)", "redis-tools"},
		"not run: needs valkey-server in PATH; install it":      {"not run: needs valkey-server (2: TestA, TestB)", "brew install valkey"},
		"not run: the race detector: no C compiler":             {"not run: the race detector: no C compiler (2: TestA, TestB)", "gcc libc6-dev"},
		"not run: this redis-server has no TLS":                 {"not run: this redis-server has no TLS (2: TestA, TestB)", ""},
		"not run: " + strings.Repeat("a very long reason, ", 7): {"not run: " + strings.TrimSpace(strings.Repeat("a very long reason, ", 7)) + " (2: TestA, TestB)", ""},
	} {
		in := passes(root, "TestC", 0) + skips(root, "TestA", reason) + skips(quorum, "TestB", strings.Replace(reason, "install it", "get it", 1))
		lines, good := ends(t, pageOf(t, "> A.\n\n- Tests: `. TestC`\n"), false, in)
		if !good {
			t.Errorf("%s: what is skipped is a failure", reason)
		}
		at := slices.Index(lines, want[0])
		if at < 0 {
			t.Errorf("%s: no line %q in %q", reason, want[0], lines)
			continue
		}
		if get := strings.HasPrefix(lines[at+1], "  get it: "); get != (want[1] != "") || !strings.Contains(lines[at+1], want[1]) {
			t.Errorf("%s: got %q below it, want %q", reason, lines[at+1], want[1])
		}
	}
	for _, a := range advice {
		if n := len("  get it: " + a.get); n > width {
			t.Errorf("%s: %d columns", a.get, n)
		}
	}
}

// A package whose modules cannot be had is a failure, of which the end says why, and how to get them.
func TestModulesAreLacking(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a.go:6:2: module lookup disabled by GOPROXY=off\n",
		"a.go:6:2: example.org/x@v1.0.0: Get \"https://example.org/x.zip\": dial tcp: lookup example.org: no such host\n",
		"a.go:6:2: example.org/x@v1.0.0: git ls-remote -q origin: fatal: unable to access: Could not resolve host: example.org\n",
		"a.go:6:2: example.org/x@v1.0.0: mkdir /mod/cache: permission denied\n",
		"a.go:6:2: example.org/x@v1.0.0: mkdir /mod/cache: read-only file system\n",
	} {
		in := passes(quorum, "TestA", 0) + says("build-output", "x", text, "") + says("fail", "", "", "x")
		lines, good := ends(t, pageOf(t, "> A.\n\n- Tests: `quorum TestA`\n"), false, in)
		want := []string{
			"  shown           A.",
			"not run: needs modules that are not on this machine (1: lock)",
			"  get it: go mod download, once, with a network and a module cache that can be written",
			"failed: lock (lacks modules)",
			"1 passed, 1 failed, 1 skipped",
		}
		if diff := cmp.Diff(want, lines[max(0, len(lines)-5):]); diff != "" || good {
			t.Errorf("good %t, end (-want +got):\n%s", good, diff)
		}
	}
}

// A pattern that matches no packages is a failure, although tests ran for others, and although the go command may not say so.
func TestPatternsWithoutPackages(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"go: warning: \"./nothing/...\" matched no packages\n", "no packages to test\n",
		says("build-output", "./nothing/...", "pattern ./nothing/...: lstat ./nothing/: no such file or directory\n", ""),
		says("build-output", "./...", "pattern ./...: directory prefix . does not contain main module or its selected dependencies\n", ""),
	} {
		lines, good := ends(t, pageOf(t, "> A.\n\n- Tests: `. TestA`\n"), false, line+passes(root, "TestA", 0))
		if at := len(lines) - 2; good || !strings.HasPrefix(lines[at], "patterns without packages, which is a failure (1): ") {
			t.Errorf("%s: got good %t, %q", line, good, lines)
		}
	}
	if lines, good := ends(t, pageOf(t, "> A.\n\n- Tests: `. TestA`\n"), false, skips(root, "TestA", "slow")); good ||
		!slices.Contains(lines, "no test ran at all, which is a failure") {
		t.Errorf("nothing but skips: got good %t, %q", good, lines)
	}
}
