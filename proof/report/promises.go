package main

import (
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock/proof/page"
)

// What a run can have shown of a promise.
const (
	shown    = "shown"
	notShown = "not shown here"
	broken   = "FAILED"
)

// why is how much of a line the reason may take for which a promise is not shown.
const why = 48

// promised are the lines on the promises, and how many of these the run has not shown: one of their tests did not run, was
// skipped, or failed.
func (n *wanted) promised() (lines []string, lacking int) {
	if len(n.promises) == 0 {
		return nil, 0
	}
	lines = append(lines, fmt.Sprintf("what the library promises, and whether this run has shown it (%s):", n.page))
	for _, p := range n.promises {
		mark, reason := n.judge(p)
		if mark != shown {
			lacking++
			reason = " (" + cut(reason, why) + ")"
		}
		mark = fmt.Sprintf("  %-*s  ", len(notShown), mark)
		text := strings.ReplaceAll(p.Text, "**", "")
		lines = append(lines, mark+cut(text, width-len(mark)-len([]rune(reason)))+reason)
	}
	return lines, lacking
}

// judge says what the run has shown of a promise, and why no more. A test that failed counts before one that did not run.
func (n *wanted) judge(p page.Promise) (mark, reason string) {
	mark = shown
	if len(p.Tests) == 0 {
		mark, reason = notShown, "no test is named"
	}
	for _, t := range p.Tests {
		e, ended := n.ended[t]
		switch {
		case e.failed:
			return broken, t.String()
		case mark != shown || e.ran:
		case ended:
			mark, reason = notShown, fmt.Sprintf("%s: %s", e.why, t)
		case n.broken[t.Folder]:
			mark, reason = notShown, fmt.Sprintf("package failed: %s", t)
		default:
			mark, reason = notShown, fmt.Sprintf("did not run: %s", t)
		}
	}
	return mark, reason
}

// cut shortens a text to so many columns.
func cut(text string, columns int) string {
	if r := []rune(text); len(r) > columns {
		return strings.TrimRight(string(r[:columns-1]), " ") + "…"
	}
	return text
}
