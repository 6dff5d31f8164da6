package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	root   = "example.org/owner/lock"
	quorum = root + "/quorum"
)

// say makes a line of what `go test -json` writes.
func say(action, pkg, name string, more ...any) string {
	e := map[string]any{"Action": action, "Package": pkg}
	if name != "" {
		e["Test"] = name
	}
	for _, m := range more {
		switch m := m.(type) {
		case string:
			e["Output"] = m
		case time.Duration:
			e["Elapsed"] = m.Seconds()
		}
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(line) + "\n"
}

// says makes a line about what is built for the package root.
func says(action, path, output, failed string) string {
	line, err := json.Marshal(map[string]string{
		"Action": action, "ImportPath": path, "Output": output, "Package": root, "FailedBuild": failed,
	})
	if err != nil {
		panic(err)
	}
	return string(line) + "\n"
}

// passes are the lines of a test that passes.
func passes(pkg, name string, took time.Duration) string {
	return say("run", pkg, name) + say("output", pkg, name, "=== RUN "+name+"\n") + say("output", pkg, name, "    log\n") +
		say("pass", pkg, name, took)
}

// skips are the lines of a test that is skipped.
func skips(pkg, name, reason string) string {
	return say("run", pkg, name) + say("output", pkg, name, "    a_test.go:7: before\n") +
		say("output", pkg, name, "    a_test.go:8: "+reason+"\n") + say("output", pkg, name, "--- SKIP: "+name+" (0.00s)\n") +
		say("skip", pkg, name)
}

// nothing is no page.
func nothing(t *testing.T) *wanted {
	t.Helper()
	n, err := readWanted("", "", true)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in, out string
		bad     bool
	}{
		"nothing": {"", "no test ran at all, which is a failure\n0 passed, 0 failed, 0 skipped\n", true},
		"what passes is not shown": {
			say("start", root, "") + passes(root, "TestA", time.Second) + say("output", root, "", "PASS\n") +
				say("output", root, "", "ok  \t"+root+"\t1s\n") + say("pass", root, "", time.Second),
			"ok  \texample.org/owner/lock\t1s\n1 passed, 0 failed, 0 skipped\n", false,
		},
		"what fails is": {
			say("run", root, "TestA") + say("output", root, "TestA", "    a_test.go:1: wrong\n") +
				say("output", root, "TestA", "--- FAIL: TestA (0.00s)\n") + say("fail", root, "TestA") + say("fail", root, ""),
			"    a_test.go:1: wrong\n--- FAIL: TestA (0.00s)\nfailed: lock TestA\n0 passed, 1 failed, 0 skipped\n", true,
		},
		"a subtest of what fails, of which the test itself says no more": {
			say("run", root, "TestA") + say("run", root, "TestA/x") + say("fail", root, "TestA/x") + say("fail", root, "TestA") + say("fail", root, ""),
			"failed: lock TestA/x\n0 passed, 2 failed, 0 skipped\n", true,
		},
		"a package that does not build": {
			says("build-output", "a", "a.go:1: wrong\n", "") + says("fail", "", "", "a") + passes(quorum, "TestA", 0),
			"a.go:1: wrong\nfailed: lock (does not build)\n1 passed, 1 failed, 0 skipped\n", true,
		},
		"a test that does not end": {
			say("start", root, "") + say("run", root, "TestA") + say("output", root, "TestA", "    said\n") + say("fail", root, ""),
			"--- CUT SHORT: TestA\n    said\nfailed: lock (the package)\n0 passed, 1 failed, 0 skipped\n", true,
		},
		"a crash that is taken for the words of a test that passes": {
			say("start", root, "") + say("run", root, "TestA") + say("output", root, "TestA", "    log\n") +
				say("output", root, "TestA", "panic: test timed out\n") + say("output", root, "TestA", "goroutine 1:\n") +
				say("pass", root, "TestA") + say("fail", root, ""),
			"panic: test timed out\ngoroutine 1:\nfailed: lock (the package)\n1 passed, 1 failed, 0 skipped\n", true,
		},
		"a panic that a test has logged": {
			say("start", root, "") + say("run", root, "TestA") + say("output", root, "TestA", "panic: as wanted\n") +
				say("pass", root, "TestA") + say("pass", root, ""),
			"1 passed, 0 failed, 0 skipped\n", false,
		},
		"what is not JSON": {
			"go: downloading\n" + passes(root, "TestA", 0) + "{not JSON\nand no end",
			"go: downloading\n{not JSON\nand no end1 passed, 0 failed, 0 skipped\n", false,
		},
		"a line says what was not run": {
			"not run: luacheck: not installed\n" + passes(root, "TestA", 0),
			"not run: luacheck: not installed\nnot run: luacheck: not installed\n" +
				"  get it: apt-get install lua-check, brew install luacheck; for make lint alone\n1 passed, 0 failed, 0 skipped\n", false,
		},
		"one line for each reason, five names at most": {
			passes(root, "TestA", 0) + skips(root, "TestB", "not run: needs valkey-server") + skips(root, "TestC", "too slow") +
				skips(root, "TestD", "needs valkey-server") + skips(root, "TestE", "needs valkey-server") +
				skips(quorum, "TestF", "needs valkey-server") + skips(quorum, "TestG", "needs valkey-server") +
				skips(root, "TestH", "needs valkey-server") + say("run", root, "TestI") + say("skip", root, "TestI"),
			"not run: needs valkey-server (6: TestB, TestD, TestE, TestF, TestG, …)\n" +
				"  get it: apt-get install valkey-server, brew install valkey, or the system's package of Valkey 8\nnot run: too slow (1: TestC)\n" +
				"not run: no reason given (1: TestI)\n1 passed, 0 failed, 8 skipped\n",
			false,
		},
		"no test of a package": {
			passes(root, "TestA", 0) + say("output", quorum, "", "ok  \t"+quorum+"\t0s [no tests to run]\n"),
			"ok  \texample.org/owner/lock/quorum\t0s [no tests to run]\n" +
				"not run: no test matches the pattern (1: example.org/owner/lock/quorum)\n1 passed, 0 failed, 1 skipped\n",
			false,
		},
		"tests that take longer than a minute": {
			say("run", root, "TestA") + passes(root, "TestA/slow", 61*time.Second) + passes(root, "TestA/quick", time.Second) +
				say("pass", root, "TestA", 62*time.Second) + passes(quorum, "TestB", time.Minute) + passes(root, "TestC", 59*time.Second),
			"longer than a minute: lock TestA/slow (1m01s), quorum TestB (1m00s)\n5 passed, 0 failed, 0 skipped\n", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r, err := summarize(strings.NewReader(test.in), &out, nothing(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.out, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if r.good() == test.bad {
				t.Errorf("got good %t", r.good())
			}
		})
	}
}

func TestReadingFails(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	in := io.MultiReader(strings.NewReader(passes(root, "TestA", 0)), iotest.ErrReader(wrong))
	if _, err := summarize(in, io.Discard, nothing(t)); !errors.Is(err, wrong) {
		t.Errorf("got %v, want %v", err, wrong)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, feed := io.Pipe()
		wanted := nothing(t)
		var out strings.Builder
		over := make(chan error)
		go func() {
			_, err := summarize(in, &out, wanted)
			over <- err
		}()
		// at has what is written until then compared with want, and then writes lines.
		at := func(seconds int, want string, lines ...string) {
			t.Helper()
			time.Sleep(time.Duration(seconds) * time.Second)
			synctest.Wait()
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			out.Reset()
			for _, line := range lines {
				_, _ = io.WriteString(feed, line)
			}
		}
		at(11, "10s: 0 passed, 0 failed; no test runs: the go command builds\n",
			say("start", root, ""), say("start", quorum, ""), passes(root, "TestA", 0),
			say("run", root, "TestB"), say("run", root, "TestB/x"), say("run", root, "TestC"), say("pause", root, "TestC"))
		at(10, "20s: 1 passed, 0 failed; running: lock 1, quorum 0\n",
			say("run", quorum, "TestD"))
		at(51, "30s: 1 passed, 0 failed; running: lock 1, quorum 1\n"+
			"40s: 1 passed, 0 failed; running: lock 1, quorum 1\n"+
			"50s: 1 passed, 0 failed; running: lock 1, quorum 1\n"+
			"1m00s: 1 passed, 0 failed; running: lock 1, quorum 1\n"+
			"1m10s: 1 passed, 0 failed; running: lock 1, quorum 1\n",
			say("cont", root, "TestC"), say("fail", quorum, "TestD"), say("fail", quorum, ""))
		at(9, "1m20s: 1 passed, 1 failed; running: lock 2\n"+
			"  for longer than a minute: lock TestB/x (1m09s)\n",
			say("pass", root, "TestB/x", 70*time.Second), say("pass", root, "TestB", 70*time.Second), say("pass", root, "TestC"),
			say("pass", root, ""))
		at(10, "1m30s: 4 passed, 1 failed; no test runs: the go command builds\n")
		_ = feed.Close()
		if err := <-over; err != nil {
			t.Error(err)
		}
		at(0, "longer than a minute: lock TestB/x (1m10s)\nfailed: quorum TestD\n4 passed, 1 failed, 0 skipped\n")
	})
}

// What failed is added to a file in full, and nothing else is.
func TestFailuresAreAdded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "failures")
	written := func(in string) string {
		r, err := summarize(strings.NewReader(in), io.Discard, nothing(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.addFailures(file); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := written(passes(root, "TestA", 0)); got != "" {
		t.Errorf("nothing failed, and the file says %q", got)
	}
	one := say("output", root, "TestA", "    a_test.go:1: wrong\n") + say("fail", root, "TestA") + say("fail", root, "")
	if got := written(passes(quorum, "TestB", 0) + one); got != "    a_test.go:1: wrong\nfailed: lock TestA\n" {
		t.Errorf("the file says %q", got)
	}
	written(one)
	two := say("output", root, "TestC", "panic: no\n") + say("fail", root, "")
	if got := written(two); !strings.HasSuffix(got, "failed: lock TestA\n--- CUT SHORT: TestC\npanic: no\nfailed: lock (the package)\n") {
		t.Errorf("the file says %q", got)
	}
}
