package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/plant"
)

const (
	// buildLimit is how long the go command may take to compile.
	buildLimit = 10 * time.Minute
	// grace is how much longer than its time a test binary may live: it ends itself by then.
	grace = 20 * time.Second
)

// errStuck says that a test binary did not end by itself.
var errStuck = errors.New("it did not end")

// A goTest is one run of go test in one package, and what is known of it.
type goTest struct {
	states  map[string]string // the last that was said of each test: run, pause, cont, pass, fail, skip
	reasons map[string]string // the last line that each test has logged
	running []string          // tests that ran when the time of the binary was over
	over    bool              // it was
	broken  bool              // it was not compiled
	output  []string          // all that was written
	stuck   bool
	err     error

	rest      []byte // of a line that is not complete
	listing   bool   // the running tests are being listed
	onStarted func()
}

// An event is what `go doc test2json` describes.
type event struct {
	Action, Test, Output string
}

// runGoTest runs those tests of a package that match, which may take so long. When it returns nothing
// that it has started is left. tmp is where the tests put what they need, overlay the file that names
// what stands in for files of the tree, if anything does. GOFLAGS tells that also what tests build.
func runGoTest(ctx context.Context, dir, pattern string, limit time.Duration, tmp, overlay string) *goTest {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &goTest{states: map[string]string{}, reasons: map[string]string{}}
	timer := time.AfterFunc(buildLimit, func() { cancel(errStuck) })
	defer timer.Stop()
	r.onStarted = func() { timer.Reset(limit + grace) }

	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-vet=off", "-count=1", "-trimpath", "-tags=proof",
		"-parallel=8", "-ldflags=-s -w", "-run", pattern, "-timeout", limit.String(), ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PWD="+dir)
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" '-overlay="+overlay+"'")
	}
	cmd.Stdout, cmd.Stderr = r, r
	r.err = plant.Run(cmd)
	r.stuck = errors.Is(context.Cause(ctx), errStuck)
	return r
}

// Write takes in what the go command says.
func (r *goTest) Write(p []byte) (int, error) {
	r.rest = append(r.rest, p...)
	for {
		line, rest, ok := bytes.Cut(r.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		r.line(string(line))
		r.rest = rest
	}
}

func (r *goTest) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		r.output = append(r.output, line) // of the go command itself
		return
	}
	switch e.Action {
	case "start":
		r.onStarted()
	case "build-fail":
		r.broken = true
	case "output", "build-output":
		r.said(e)
	case "run", "pause", "cont", "pass", "fail", "skip":
		// A package and its external test package may have a test of one name each.
		if e.Test != "" && r.states[e.Test] != "fail" {
			r.states[e.Test] = e.Action
		}
	}
}

var (
	runningTest = regexp.MustCompile(`^\t+(\S+) \([^ ()]+\)$`)
	logged      = regexp.MustCompile(`^\s*\S+\.go:\d+: (.*)$`)
)

// said takes in a line of output.
func (r *goTest) said(e event) {
	line := strings.TrimRight(e.Output, "\n")
	r.output = append(r.output, line)
	if m := logged.FindStringSubmatch(line); m != nil {
		r.reasons[e.Test] = m[1]
	}
	switch m := runningTest.FindStringSubmatch(line); {
	case strings.HasPrefix(line, "panic: test timed out after "):
		r.over = true
	case r.over && strings.TrimSpace(line) == "running tests:":
		r.listing = true
	case r.listing && m != nil:
		r.running = append(r.running, m[1])
	default:
		r.listing = false
	}
}

// under reports whether a test is a certain one, or one of its subtests.
func under(test, name string) bool { return test == name || strings.HasPrefix(test, name+"/") }

// skipped reports whether the test, or everything below it, was skipped, and why.
func (r *goTest) skipped(name string) (string, bool) {
	reason, some := "", false
	for test, state := range r.states {
		switch {
		case !under(test, name) || r.isParent(test):
		case state != "skip":
			return "", false
		default:
			reason, some = r.reasons[test], true
		}
	}
	return reason, some
}

func (r *goTest) isParent(name string) bool {
	for test := range r.states {
		if strings.HasPrefix(test, name+"/") {
			return true
		}
	}
	return false
}

// tail returns the last lines of the output.
func (r *goTest) tail(n int) []string { return r.output[max(0, len(r.output)-n):] }

// patternOf is what makes go test run one test, or one subtest, and no other.
func patternOf(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
