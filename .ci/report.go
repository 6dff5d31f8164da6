//go:build ignore

// Report reads the output of one or more `go test -json` runs, shows what
// failed in full and of the rest only go test's line per package, and ends
// with one list of what was not run, and why. Lines that are not JSON are
// passed on; one that starts with "not run:" also joins the list.
//
// Its exit status is 1 if anything failed or if no test ran at all.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

const notRun = "not run: "

func main() {
	r := report{
		failing: map[string]bool{},
		output:  map[test][]string{},
		skipped: map[string][]string{},
	}
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	r.end()
	if r.failed > 0 || r.passed == 0 {
		os.Exit(1)
	}
}

// An event is what `go doc test2json` describes.
type event struct {
	Action string
	test
	Output string
}

type test struct{ Package, Test string }

type report struct {
	passed, failed int
	failing        map[string]bool     // packages with a failed test that have not ended
	output         map[test][]string   // of the tests that have not ended
	skipped        map[string][]string // names, by reason
	reasons        []string            // in the order in which they came
}

func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) line(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		fmt.Print(line)
		if reason, ok := strings.CutPrefix(line, notRun); ok {
			r.skip(strings.TrimSpace(reason), "")
		}
		return
	}
	switch {
	case e.Action == "build-output":
		fmt.Print(e.Output)
	case e.Test == "":
		r.packageEvent(e)
	default:
		r.testEvent(e)
	}
}

func (r *report) packageEvent(e event) {
	switch e.Action {
	case "output":
		if e.Output != "PASS\n" {
			fmt.Print(e.Output)
		}
		if strings.HasSuffix(e.Output, "[no tests to run]\n") {
			r.skip("no test matches the pattern", e.Package)
		}
	case "fail":
		r.packageFailed(e.Package)
	}
}

// packageFailed shows the tests that never ended: those that a panic, a
// time-out or an exit cut short. A package that failed without a failed test
// (it does not build, its TestMain fails) counts as one failure.
func (r *report) packageFailed(name string) {
	if !r.failing[name] {
		r.failed++
	}
	delete(r.failing, name)
	for t, output := range r.output {
		if t.Package == name {
			fmt.Printf("--- CUT SHORT: %s\n%s", t.Test, strings.Join(output, ""))
			delete(r.output, t)
		}
	}
}

func (r *report) testEvent(e event) {
	switch e.Action {
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			r.output[e.test] = append(r.output[e.test], e.Output)
		}
		return
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		r.failing[e.Package] = true
		fmt.Print(strings.Join(r.output[e.test], ""))
	case "skip":
		r.skip(reasonOf(r.output[e.test]), e.Test)
	default:
		return
	}
	delete(r.output, e.test)
}

// position is what testing puts in front of a log line.
var position = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// reasonOf is the last line logged: testing logs the text of a Skip.
func reasonOf(output []string) string {
	reason := "no reason given"
	for _, line := range output {
		if loc := position.FindStringIndex(line); loc != nil {
			reason = strings.TrimPrefix(strings.TrimSpace(line[loc[1]:]), notRun)
		}
	}
	return reason
}

func (r *report) skip(reason, name string) {
	if _, seen := r.skipped[reason]; !seen {
		r.reasons = append(r.reasons, reason)
	}
	r.skipped[reason] = append(r.skipped[reason], name)
}

func (r *report) end() {
	skipped := 0
	for _, reason := range r.reasons {
		names := r.skipped[reason]
		if names[0] == "" {
			fmt.Printf("%s%s\n", notRun, reason)
			continue
		}
		skipped += len(names)
		fmt.Printf("%s%s: %s\n", notRun, strings.Join(names, ", "), reason)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", r.passed, r.failed, skipped)
}
