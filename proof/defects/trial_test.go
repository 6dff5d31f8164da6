package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
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
	"github.com/seed-14de3678/redislock/proof/plant"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// small is a module with a defect for each verdict.
var small = map[string]string{
	"go.mod": "module small\n\ngo 1.26\n",
	"sum/sum.go": `package sum

import _ "embed"

//go:embed words.lua
var Words string

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
	"strings"
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

func TestWords(t *testing.T) {
	if strings.Contains(Words, "two") {
		t.Fail()
	}
}

func TestSay(t *testing.T) {
	out, err := exec.Command("go", "run", "../say").Output()
	if err != nil {
		t.Skip(err)
	}
	if text := string(out); text[0] != '3' && strings.Contains(text, "two") {
		t.Fail()
	}
}

// It hangs beside what it has started.
func TestHangs(t *testing.T) {
	for Sum(1, 1) != 2 {
		if file := os.Getenv("DEFECTS_TEST_PID"); file != "" {
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
	"sum/words.lua": "local function word()\n  return 'one'\nend\n\nreturn word()\n",
	"say/say.go": `package main

import (
	"fmt"

	"small/sum"
)

func main() { fmt.Print(sum.Sum(1, 2), sum.Words) }
`,
}

const wrong = "sum/sum.go Sum\n- a + b\n+ a - b"

// trials are the defects of it, and what has to become of them.
var trials = []struct {
	name, test, in string
	want           verdict
}{
	{"fails", "TestSum", wrong, caught},
	{"its-subtest-fails", "TestSum/of_two", wrong, caught},
	{"takes-too-long", "TestHangs 1s", wrong, caught},
	{"what-is-embedded", "TestWords", "sum/words.lua word\n- one\n+ two", caught},
	{"what-the-test-builds", "TestSay", wrong + "\nin sum/words.lua\n- return word()\n+ return 'two'", caught},
	{"another-subtest-fails", "TestSum/other", wrong, survived},
	{"test-main-fails", "TestSum", "sum/sum.go Same\n- return a\n+ return -a", survived},
	{"has-another-text", "TestSum", "sum/sum.go Sum\n- b + a\n+ b - a", doesNotApply},
	{"has-no-c", "TestSum", "sum/sum.go Sum\n- a + b\n+ c", doesNotCompile},
	{"has-no-such-test", "TestSum/of_three", wrong, notRun},
	{"needs-a-server", "TestSkipped", wrong, skippedTest},
	{"fails-anyway", "TestBroken", wrong, brokenBefore},
}

// smallTree makes a tree of it, and settings to run all of its defects.
func smallTree(t *testing.T) settings {
	t.Helper()
	s := settings{root: t.TempDir(), scratch: t.TempDir(), pattern: regexp.MustCompile(""), part: plant.Whole, jobs: 2}
	write(t, s.root, small)
	list := ""
	for _, d := range trials {
		list += fmt.Sprintf("defect %s\nwhy something is wrong\ntest sum %s\nin %s\n\n", d.name, d.test, d.in)
	}
	write(t, s.root, map[string]string{"proof/defects/small.txt": list})
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
	if err == nil || err.Error() != "7 of 12 are not caught" {
		t.Errorf("got %v, want that 7 of 12 are not caught", err)
	}
	got := map[string]verdict{}
	for _, m := range regexp.MustCompile(`(?m)^(\S.*?)  +(\S+)  \(`).FindAllStringSubmatch(out.String(), -1) {
		got[m[2]] = verdict(m[1])
	}
	want := map[string]verdict{}
	for _, d := range trials {
		want[d.name] = d.want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{
		"the server is not there", "undefined: c", "survivor: test-main-fails\n", "0 times in sum/sum.go Sum; nearest is",
		"12 defects, 5 caught, 1 does not apply, 1 does not compile, 2 survived, 1 test fails without it, " +
			"1 test not run, 1 test skipped\n",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("it does not say %q", text)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	wantEmpty(t, s.scratch)
	for name, want := range small {
		if got, err := os.ReadFile(filepath.Join(s.root, name)); err != nil || string(got) != want {
			t.Errorf("%s of the tree itself was changed: %s, %v", name, got, err)
		}
	}
}

func TestAllCaught(t *testing.T) {
	t.Parallel()
	s := smallTree(t)
	var out bytes.Buffer
	if s.pattern = regexp.MustCompile("^fails$"); s.run(t.Context(), &out) != nil {
		t.Error(out.String())
	}
	if s.pattern = regexp.MustCompile("^nothing"); s.run(t.Context(), &out) == nil {
		t.Error("no defect at all: no error")
	}
	s.list, s.pattern = true, regexp.MustCompile("")
	if err := s.run(t.Context(), &out); err == nil || err.Error() != "1 do not apply" {
		t.Errorf("got %v, want that one does not apply", err)
	}
	if !strings.Contains(out.String(), "small.txt:1: fails\n\tsomething is wrong: sum TestSum, 1m0s\n") {
		t.Error(out.String())
	}
}

// Neither what a test has started nor a scratch folder outlives an interrupted run.
func TestInterrupted(t *testing.T) {
	redistest.Need(t, "sleep")
	s := smallTree(t)
	s.pattern = regexp.MustCompile("^takes-too-long$")
	write(t, s.root, map[string]string{
		"proof/defects/small.txt": "defect takes-too-long\nwhy it hangs\ntest sum TestHangs 10m\nin " + wrong,
	})
	told := filepath.Join(t.TempDir(), "pid")
	t.Setenv("DEFECTS_TEST_PID", told)
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
