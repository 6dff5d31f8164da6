package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// small is a module with a mutant for each verdict.
var small = map[string]string{
	".gitignore": "/ignored/\n",
	"go.mod":     "module small\n\ngo 1.26\n",
	"sum/sum.go": `package sum

func Sum(a, b int) int {
	return a + b
}

func Same(a int) int {
	return a
}
`,
	"sum/sum_test.go": `package sum

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

func TestSum(t *testing.T) {
	t.Run("of two", func(t *testing.T) {
		if Sum(1, 2) != 3 {
			t.Fail()
		}
	})
	t.Run("other", func(t *testing.T) {})
}

func TestSkipped(t *testing.T) {
	t.Run("a", func(t *testing.T) { t.Skip("the server is not there") })
}

func TestBroken(t *testing.T) { t.Fail() }

func TestPanics(t *testing.T) {
	done := make(chan bool)
	go func() {
		if Sum(1, 1) != 2 {
			panic("wrong")
		}
		done <- true
	}()
	<-done
}

// It hangs beside what it has started.
func TestHangs(t *testing.T) {
	for Sum(1, 1) != 2 {
		if file := os.Getenv("MUTANTS_TEST_PID"); file != "" {
			child := exec.Command("sleep", "600")
			if child.Start() == nil {
				_ = os.WriteFile(file+".tmp", []byte(strconv.Itoa(child.Process.Pid)), 0o644)
				_ = os.Rename(file+".tmp", file)
			}
		}
		time.Sleep(time.Hour)
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if Same(1) != 1 {
		code = 1
	}
	os.Exit(code)
}
`,
	"proof/mutants/small.txt": `mutant caught
why the sum is wrong
test sum TestSum
file sum/sum.go
-	return a + b
+	return a - b

mutant caught-by-a-subtest
why the sum is wrong
test sum TestSum/of_two
file sum/sum.go
-	return a + b
+	return a - b

mutant caught-by-a-panic
why the sum is wrong
test sum TestPanics
file sum/sum.go
-	return a + b
+	return a - b

mutant caught-by-its-time
why the sum is wrong
test sum TestHangs 1s
file sum/sum.go
-	return a + b
+	return a - b

mutant survives
why the other subtest fails, and this one does not
test sum TestSum/other
file sum/sum.go
-	return a + b
+	return a - b

mutant survives-beside-a-failure
why TestMain fails, and the test does not
test sum TestSum
file sum/sum.go
-	return a
+	return -a

mutant does-not-apply
why the line has been changed
test sum TestSum
file sum/sum.go
-	return b + a
+	return b - a

mutant does-not-compile
why b is not used
test sum TestSum
file sum/sum.go
-	return a + b
+	return c

mutant not-run
why the test has another name
test sum TestSum/of_three
file sum/sum.go
-	return a + b
+	return a - b

mutant skipped
why the test needs a server
test sum TestSkipped
file sum/sum.go
-	return a + b
+	return a - b

mutant broken
why the test fails by itself
test sum TestBroken
file sum/sum.go
-	return a + b
+	return a - b
`,
	"ignored/file": "not to be copied",
}

// smallTree makes a tree of it, and settings to run all of its mutants.
func smallTree(t *testing.T) settings {
	t.Helper()
	redistest.Need(t, "git")
	s := settings{root: t.TempDir(), scratch: t.TempDir(), pattern: regexp.MustCompile(""), part: 1, parts: 1, jobs: 2}
	write(t, s.root, small)
	for _, args := range [][]string{{"init", "-q"}, {"add", "sum/sum.go"}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = s.root
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return s
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left in the scratch folder: %v, %v", entries, err)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	s := smallTree(t)
	var out bytes.Buffer
	err := s.run(t.Context(), &out)
	if err == nil || err.Error() != "7 of 11 are not caught" {
		t.Errorf("got %v, want that 7 of 11 are not caught", err)
	}
	got := map[string]verdict{}
	for _, m := range regexp.MustCompile(`(?m)^(\S.*?)  +(\S+)  \(`).FindAllStringSubmatch(out.String(), -1) {
		got[m[2]] = verdict(m[1])
	}
	want := map[string]verdict{
		"caught":                    caught,
		"caught-by-a-subtest":       caught,
		"caught-by-a-panic":         caught,
		"caught-by-its-time":        caught,
		"survives":                  survived,
		"survives-beside-a-failure": survived,
		"does-not-apply":            doesNotApply,
		"does-not-compile":          doesNotCompile,
		"not-run":                   notRun,
		"skipped":                   skippedTest,
		"broken":                    brokenBefore,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{
		"the server is not there", "undefined: c", "survivor: survives\n", "are there 0 times",
		"11 mutants, 4 caught, 2 survived, 1 does not apply, 1 does not compile, 1 test not run, " +
			"1 test skipped, 1 test fails without it\n",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("it does not say %q", text)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	wantEmpty(t, s.scratch)
	if got := read(t, s.root, "sum/sum.go"); got != small["sum/sum.go"] {
		t.Errorf("the tree itself was changed: %s", got)
	}
}

func TestAllCaught(t *testing.T) {
	t.Parallel()
	s := smallTree(t)
	s.pattern = regexp.MustCompile("^caught$")
	var out bytes.Buffer
	if err := s.run(t.Context(), &out); err != nil {
		t.Errorf("%v: %s", err, &out)
	}
	s.pattern = regexp.MustCompile("^nothing")
	if err := s.run(t.Context(), &out); err == nil {
		t.Error("no mutant at all: no error")
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := smallTree(t)
	s.list = true
	var out bytes.Buffer
	if err := s.run(t.Context(), &out); err == nil || err.Error() != "1 do not apply" {
		t.Errorf("got %v, want that one does not apply", err)
	}
	if !strings.Contains(out.String(), "small.txt:1: caught\n\tthe sum is wrong: sum TestSum, 1m0s\n") {
		t.Error(out.String())
	}
}

// Neither what a test has started nor a scratch folder outlives an interrupted run.
func TestInterrupted(t *testing.T) {
	redistest.Need(t, "sleep")
	s := smallTree(t)
	s.pattern = regexp.MustCompile("^caught-by-its-time$")
	file := filepath.Join(s.root, "proof/mutants/small.txt")
	if err := os.WriteFile(file, []byte(strings.Replace(read(t, s.root, "proof/mutants/small.txt"),
		"TestHangs 1s", "TestHangs 10m", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	told := filepath.Join(t.TempDir(), "pid")
	t.Setenv("MUTANTS_TEST_PID", told)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	var out bytes.Buffer
	go func() { ended <- s.run(ctx, &out) }()
	var pid int
	check.Eventually(t, time.Minute, "the test hangs", func() bool {
		text, _ := os.ReadFile(told)
		pid, _ = strconv.Atoi(string(text))
		return pid != 0
	})
	cancel()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("got %v, want that it was interrupted", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	check.Eventually(t, 10*time.Second, "what the test has started is gone", func() bool { return !alive(pid) })
	wantEmpty(t, s.scratch)
}

// alive reports whether a process runs; one that was killed, and is not reaped yet, does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err == nil {
		return !strings.Contains(string(stat), ") Z ")
	}
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}
