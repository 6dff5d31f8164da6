package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// An event is what `go doc test2json` describes.
type event struct {
	Action string
	test
	Elapsed float64 // seconds, without those in which a parallel test was not let run
	Output  string
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
	unproved       []string // what the wanted tests and modules lack, once all is over
}

func newReport(out io.Writer, wanted *wanted, now time.Time) *report {
	return &report{
		out: out, wanted: wanted, began: now,
		failing: map[string]bool{}, output: map[test][]string{}, crashes: map[string][]string{},
		running: newRunning(), skipped: reasons{names: map[string][]string{}},
	}
}

// good reports whether something ran, nothing failed, and what has to run did.
func (r *report) good() bool { return r.failed == 0 && r.passed > 0 && len(r.unproved) == 0 }

func (r *report) print(text string) { _, _ = io.WriteString(r.out, text) }

func (r *report) printf(format string, args ...any) { r.print(fmt.Sprintf(format, args...)) }

// line takes the next line of the output, which was read at now.
func (r *report) line(line string, now time.Time) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		r.print(line)
		if reason, ok := strings.CutPrefix(line, notRun); ok {
			r.skipped.add(strings.TrimSpace(reason), "")
		}
		return
	}
	switch {
	case e.Action == "build-output":
		r.print(e.Output)
	case e.Test == "":
		r.packageEvent(e)
	default:
		r.testEvent(e, now)
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
		r.packageFails(e.Package)
		r.running.packageEnds(e.Package)
	}
}

// packageFails shows the tests that never ended: those that a panic, a
// time-out or an exit cut short. A package that failed without a failed test
// (it does not build, its TestMain fails) counts as one failure.
func (r *report) packageFails(name string) {
	if !r.failing[name] {
		r.failed++
	}
	delete(r.failing, name)
	r.print(strings.Join(r.crashes[name], ""))
	delete(r.crashes, name)
	for t, output := range r.output {
		if t.Package == name {
			r.printf("--- CUT SHORT: %s\n%s", t.Test, strings.Join(output, ""))
			delete(r.output, t)
		}
	}
}

func (r *report) testEvent(e event, now time.Time) {
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
		r.print(strings.Join(r.output[e.test], ""))
	case "skip":
		r.skipped.add(reasonOf(r.output[e.test]), e.Test)
	default:
		return
	}
	r.wanted.ends(e.test, e.Action != "skip")
	r.running.ends(e.test, time.Duration(e.Elapsed*float64(time.Second)))
	delete(r.output, e.test)
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
	r.printf("%v: %d passed, %d failed; %s\n", now.Sub(r.began).Round(time.Second), r.passed, r.failed, r.running.text())
	if long := r.running.overdue(now); len(long) > 0 {
		r.printf("  for longer than a minute: %s\n", strings.Join(long, ", "))
	}
}

// end says what is left to be said when everything has ended.
func (r *report) end() {
	if len(r.running.long) > 0 {
		r.printf("longer than a minute: %s\n", strings.Join(r.running.long, ", "))
	}
	r.endProof()
	for _, line := range r.skipped.lines() {
		r.printf("%s%s\n", notRun, line)
	}
	r.printf("%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped.count())
}

// endProof says of which modules no test ran, and which of the wanted tests did not run, or only notes that where not everything has
// to run.
func (r *report) endProof() {
	for _, m := range r.wanted.idle() {
		line := "no test of the module " + m + " ran"
		r.unproved = append(r.unproved, line)
		r.printf("%s\n", line)
	}
	lines := r.wanted.missing()
	if r.wanted.strict {
		r.unproved = append(r.unproved, lines...)
	}
	for _, line := range lines {
		if r.wanted.strict {
			r.printf("%s: %s\n", r.wanted.page, line)
		} else {
			r.skipped.add("what "+r.wanted.page+" names", line)
		}
	}
}
