package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	times "github.com/seed-14de3678/redislock/internal/shown"
)

// An event is what `go doc test2json` describes.
type event struct {
	Action string
	test
	Elapsed float64 // seconds, without those in which a parallel test was not let run
	Output  string

	ImportPath  string // of what does not build, with what it says
	FailedBuild string // the ImportPath for which a package failed
}

type test struct{ Package, Test string }

// A report is what is known of the runs so far.
type report struct {
	out            io.Writer
	began          time.Time
	passed, failed int
	failing        map[string]bool     // packages with a failed test that have not ended
	output         map[test][]string   // of the tests that have not ended
	crashes        map[string][]string // by package: what stands in the output of a test that has passed
	running        running
	skipped        reasons
	wanted         *wanted
	failures       []string          // the names of tests and packages that failed
	nothing        []string          // patterns that matched no packages, as the go command says it
	unbuilt        map[string]string // by ImportPath: what the go command says
	told           strings.Builder   // what the failures have written
	unproved       []string          // what the wanted tests and modules lack, once all is over
}

func newReport(out io.Writer, wanted *wanted, now time.Time) *report {
	return &report{
		out: out, wanted: wanted, began: now,
		failing: map[string]bool{}, output: map[test][]string{}, crashes: map[string][]string{},
		unbuilt: map[string]string{}, running: newRunning(), skipped: reasons{names: map[string][]string{}},
	}
}

// good reports whether something ran, nothing failed, and what has to run did.
func (r *report) good() bool {
	return r.failed == 0 && r.passed > 0 && len(r.nothing) == 0 && len(r.unproved) == 0
}

func (r *report) print(text string) { _, _ = io.WriteString(r.out, text) }

func (r *report) printf(format string, args ...any) { r.print(fmt.Sprintf(format, args...)) }

// tell shows what a failure has written, and keeps it.
func (r *report) tell(text string) {
	r.print(text)
	r.told.WriteString(text)
}

// addFailures adds what failed to a file.
func (r *report) addFailures(file string) error {
	if r.good() {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(r.told.String() + strings.Join(slices.Concat(r.unproved, r.faults()), "\n") + "\n")
	return errors.Join(err, f.Close())
}

// line takes the next line of the output, which was read at now.
func (r *report) line(line string, now time.Time) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		r.print(line)
		if reason, ok := strings.CutPrefix(line, notRun); ok {
			r.skipped.add(strings.TrimSpace(reason), "")
		}
		r.looks(line)
		return
	}
	switch {
	case e.Action == "build-output":
		r.print(e.Output)
		r.unbuilt[e.ImportPath] += e.Output
		r.looks(e.Output)
	case e.Test == "":
		r.packageEvent(e)
	default:
		r.testEvent(e, now)
	}
}

// looks whether the go command says that a pattern matches no packages.
func (r *report) looks(line string) {
	if line = strings.TrimSpace(line); noPackages.MatchString(line) {
		r.nothing = append(r.nothing, line)
	}
}

func (r *report) packageEvent(e event) {
	switch e.Action {
	case "start":
		r.running.packages[e.Package] = true
	case "output":
		if e.Output != "PASS\n" {
			r.print(e.Output)
		}
		if strings.HasSuffix(e.Output, "[no tests to run]\n") {
			r.skipped.add("no test matches the pattern", e.Package)
		}
	case "pass", "skip":
		delete(r.crashes, e.Package)
		r.running.packageEnds(e.Package)
	case "fail":
		r.packageFails(e)
		r.running.packageEnds(e.Package)
	}
}

// packageFails shows the tests that never ended: those that a panic, a
// time-out or an exit cut short. A package that failed without a failed test
// (it does not build, its TestMain fails) counts as one failure.
func (r *report) packageFails(e event) {
	name := e.Package
	r.wanted.breaks(name)
	if !r.failing[name] {
		r.failed++
		switch {
		case noModule.MatchString(r.unbuilt[e.FailedBuild]):
			r.skipped.add(noModules, short(name))
			r.failures = append(r.failures, short(name)+" (lacks modules)")
		case e.FailedBuild != "":
			r.failures = append(r.failures, short(name)+" (does not build)")
		default:
			r.failures = append(r.failures, short(name)+" (the package)")
		}
	}
	delete(r.failing, name)
	r.told.WriteString(r.unbuilt[e.FailedBuild]) // it has been shown
	r.tell(strings.Join(r.crashes[name], ""))
	delete(r.crashes, name)
	for t, output := range r.output {
		if t.Package == name {
			r.tell(fmt.Sprintf("--- CUT SHORT: %s\n%s", t.Test, strings.Join(output, "")))
			delete(r.output, t)
		}
	}
}

func (r *report) testEvent(e event, now time.Time) {
	how := ending{ran: true}
	switch e.Action {
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			r.output[e.test] = append(r.output[e.test], e.Output)
		}
		return
	case "run", "cont":
		r.running.starts(e.test, now)
		return
	case "pause":
		r.running.pauses(e.test)
		return
	case "pass":
		r.passed++
		r.keepCrash(e.test)
	case "fail":
		r.failed++
		r.failing[e.Package] = true
		how.failed = true
		r.fails(e.test)
		r.tell(strings.Join(r.output[e.test], ""))
	case "skip":
		how = ending{why: reasonOf(r.output[e.test])}
		r.skipped.add(how.why, e.Test)
		how.why, _ = adviceFor(how.why)
	default:
		return
	}
	r.wanted.ends(e.test, how)
	r.running.ends(e.test, time.Duration(e.Elapsed*float64(time.Second)))
	delete(r.output, e.test)
}

// fails notes the name of a test. A test fails with each of its subtests, which ends before it and says more.
func (r *report) fails(t test) {
	name := short(t.Package) + " " + t.Test
	if n := len(r.failures); n == 0 || !strings.HasPrefix(r.failures[n-1], name+"/") {
		r.failures = append(r.failures, name)
	}
}

// crash is how the output of a test binary begins that ends all its tests, or of the race detector. It is
// taken for the output of the test that has written last, which may have passed.
var crash = regexp.MustCompile(`^(panic: |fatal error: |SIG[A-Z]+: |WARNING: DATA RACE)`)

// keepCrash keeps such output of a test that has passed until it is known whether its package fails.
func (r *report) keepCrash(t test) {
	for i, line := range r.output[t] {
		if crash.MatchString(line) {
			r.crashes[t.Package] = append(r.crashes[t.Package], r.output[t][i:]...)
			return
		}
	}
}

// progress says how far the run is at now.
func (r *report) progress(now time.Time) {
	r.printf("%s: %d passed, %d failed; %s\n", times.Duration(now.Sub(r.began)), r.passed, r.failed, r.running.text())
	if long := r.running.overdue(now); len(long) > 0 {
		r.printf("  for longer than a minute: %s\n", strings.Join(long, ", "))
	}
}
