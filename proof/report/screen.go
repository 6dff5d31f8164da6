package main

import (
	"fmt"
	"slices"
	"strings"
)

// What the end may take of a terminal, in lines and columns.
const (
	height = 24
	width  = 100
)

// end says what is left to be said when everything has ended: the last screen, and in front of it what need not stand there.
func (r *report) end() {
	if len(r.running.long) > 0 {
		r.printf("longer than a minute: %s\n", strings.Join(r.running.long, ", "))
	}
	r.endProof()
	promises := r.endPromises()
	faults := append(r.faults(), fmt.Sprintf("%d passed, %d failed, %d skipped", r.passed, r.failed, r.skipped.count()))
	all, few := r.skipped.blocks(), []string(nil)
	if room := height - len(promises) - len(faults); len(slices.Concat(all...)) > room {
		r.show(slices.Concat(all...))
		few = fitting(all, room)
	} else {
		few = slices.Concat(all...)
	}
	r.show(promises, few, faults)
}

func (r *report) show(parts ...[]string) {
	for _, line := range slices.Concat(parts...) {
		r.print(line + "\n")
	}
}

// fitting are the first of several blocks, and a line that counts the rest: so many lines at most.
func fitting(blocks [][]string, room int) (lines []string) {
	for i, block := range blocks {
		if len(lines)+len(block)+1 > room {
			return append(lines, fmt.Sprintf("%sfor %d more reasons, which stand above this screen", notRun, len(blocks)-i))
		}
		lines = append(lines, block...)
	}
	return lines
}

// endPromises are the lines on the promises. Where all tests of the page have to run, a promise that is not shown is a failure.
func (r *report) endPromises() []string {
	lines, lacking := r.wanted.promised()
	if r.wanted.strict && lacking > 0 {
		r.unproved = append(r.unproved, fmt.Sprintf("with CI=true it is a failure that %d promises are not shown", lacking))
	}
	return lines
}

// faults say why the run is not good.
func (r *report) faults() (lines []string) {
	if r.passed+r.failed == 0 {
		lines = append(lines, "no test ran at all, which is a failure")
	}
	if n := len(r.nothing); n > 0 {
		lines = append(lines, cut(fmt.Sprintf("patterns without packages, which is a failure (%d): %s", n, r.nothing[0]), width))
	}
	if len(r.failures) > 0 {
		lines = append(lines, cut("failed: "+strings.Join(r.failures, ", "), width))
	}
	if len(r.wanted.promises) > 0 {
		lines = append(lines, r.unproved...)
	}
	return lines
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
