package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/proof/plant"
)

// repository is a list of such steps over a repository that has a page.
func repository(t *testing.T, steps ...step) list {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "proof.md", "# Page\n\n<!-- compare list -->\nold\n<!-- /compare list -->\n\nEnd.\n")
	write(t, dir, ".gitignore", "kept\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, said)
		}
	}
	return list{root: dir, kept: filepath.Join(dir, "kept"), commit: "c0ffee", version: "v0.1.0", page: "proof.md", steps: steps, out: io.Discard}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	check.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

var all = regexp.MustCompile("")

func TestList(t *testing.T) {
	t.Parallel()
	runs := 0
	bad := errors.New("bad")
	l := repository(
		t,
		step{name: "a command", shows: "one", command: "echo 3 passed; echo 4 passed; echo no >&2", figure: `(\d+ passed)`},
		step{name: "counted", shows: "two", do: func(context.Context, string, io.Writer) (string, error) { runs++; return "a|b", nil }},
		step{name: "bad", shows: "three", do: func(context.Context, string, io.Writer) (string, error) { return "", bad }},
		step{name: "silent", shows: "four", command: "true", figure: `(\d+ passed)`},
		step{name: "fails", shows: "five", command: "echo 1 passed; exit 1", figure: `(\d+ passed)`},
	)
	for range 2 { // what has passed is not run again
		err := l.run(t.Context(), all)
		if err == nil || !strings.HasPrefix(err.Error(), "failed: bad, silent, fails; what they printed is in "+l.kept) {
			t.Errorf("got error %v", err)
		}
	}
	if runs != 1 {
		t.Errorf("a step that has passed ran %d times", runs)
	}
	got := string(check.Must[[]byte](t)(os.ReadFile(filepath.Join(l.root, l.page))))
	today := time.Now().Format(time.DateOnly)
	equal(t, got, "# Page\n\n<!-- compare list -->\nCommit c0ffee, for v0.1.0:\n\n| step | shows | figure | day | took |\n|---|---|---|---|---|\n"+
		"| a command | one | 4 passed | "+today+" | 0s |\n| counted | two | a/b | "+today+" | 0s |\n"+
		"| bad | three | not run | | |\n| silent | four | not run | | |\n| fails | five | not run | | |\n<!-- /compare list -->\n\nEnd.\n")
	log := string(check.Must[[]byte](t)(os.ReadFile(filepath.Join(l.kept, "a-command.log"))))
	equal(t, log, "3 passed\n4 passed\nno\n")
}

// What is not committed is not released.
func TestListRefusesChanges(t *testing.T) {
	t.Parallel()
	l := repository(t, step{name: "one", command: "echo 1 passed", figure: `(\d+ passed)`})
	write(t, l.root, "new.go", "package new\n")
	if err := l.run(t.Context(), all); err == nil || !strings.Contains(err.Error(), "new.go") {
		t.Errorf("got error %v", err)
	}
}

// The figures are found in what the commands print.
func TestFigures(t *testing.T) {
	t.Parallel()
	printed := map[string]string{
		"gate":                "1 passed, 0 failed, 0 skipped\n8641 passed, 0 failed, 7 skipped\n",
		"planted defects 1/4": "\n41 defects, 41 caught\n",
		"matrix":              "    matrix_test.go:227: 2784 cells in 31s, 0 fail\n",
		"campaign on single":  "        topology  rounds  operations  faults  findings\n        single    8       22 364      60      0\n",
		"campaign on ring":    "        ring      70      1 022 364   1 060   0\n",
		"size":                "    download_test.go:31: downloads: root 399 files, 810123 bytes; redislockotel 8 files, 1 bytes\n",
		"builds":              "6 systems\n",
	}
	want := map[string]string{
		"gate": "8641 passed, 0 failed, 7 skipped", "planted defects 1/4": "41 caught", "matrix": "2784 cells, 0 fail",
		"campaign on single": "8 rounds, 22 364 operations, 60 faults, 0 findings",
		"campaign on ring":   "70 rounds, 1 022 364 operations, 1 060 faults, 0 findings",
		"size":               "root 399 files, 810123 bytes; redislockotel 8 files, 1 bytes", "builds": "6 systems",
	}
	for _, s := range steps("v0.1.0", time.Minute) {
		if text, ok := printed[s.name]; ok {
			got, _ := lastFigure(s.figure, text)
			equal(t, got, want[s.name])
			if got, ok := lastFigure(s.figure, strings.NewReplacer(" 0 f", " 1 f", "0\n", "20\n").Replace(text)); ok && strings.Contains(text, " 0 f") {
				t.Errorf("%s: %q is a figure of a failure", s.name, got)
			}
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	l := repository(t)
	write(t, l.root, "CHANGELOG.md", "## [Unreleased]\n\n## [0.1.0] - 2026-12-01\n")
	for _, module := range modules[1:] {
		write(t, l.root, module+"/go.mod", "module m\n\nrequire github.com/x/redislock v0.1.0\n")
	}
	var log strings.Builder
	equal(t, check.Must[string](t)(tags(t.Context(), l.root, "v0.1.0", &log)),
		"v0.1.0, cmd/redislock/v0.1.0, redislockotel/v0.1.0, redislockgocron/v0.1.0")
	if !strings.HasPrefix(log.String(), "git tag -a v0.1.0 -m 'redislock v0.1.0' && git push origin v0.1.0\ngit tag -a cmd/redislock/v0.1.0") {
		t.Errorf("got %s", log.String())
	}
	_, err := tags(t.Context(), l.root, "v0.2.0", io.Discard)
	for _, want := range []string{"CHANGELOG.md has no heading", "cmd/redislock/go.mod does not", "redislockotel/go.mod does not"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	check.Must[string](t)(plant.Git(t.Context(), l.root, "tag", "redislockotel/v0.1.0"))
	if _, err := tags(t.Context(), l.root, "v0.1.0", io.Discard); err == nil || !strings.Contains(err.Error(), "a tag redislockotel/v0.1.0 already") {
		t.Errorf("got error %v", err)
	}
}

// A page is judged by what a reader would miss, or stumble over.
func TestJudge(t *testing.T) {
	t.Parallel()
	const good = `<section class="Documentation-overview"><p>Package x is one.</p><details id="example-New"></details>`
	if n, bad := judge(good); n != 1 || bad != "" {
		t.Errorf("got %d and %q", n, bad)
	}
	for name, page := range map[string]string{
		"no overview": "<p>Package x is one.</p>", "markup": good + "<p>This is **bold**.</p>", "a link": good + "<p>See [this](there).</p>",
	} {
		if _, bad := judge(page); bad == "" {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
