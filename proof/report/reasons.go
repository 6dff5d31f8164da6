package main

import (
	"fmt"
	"regexp"
	"strings"
)

const notRun = "not run: "

// named is how many names of what was not run are written for each reason.
const named = 5

// reasons are why something was not run.
type reasons struct {
	order []string            // as they came
	names map[string][]string // what was not run, by reason; an empty name if the reason says it all
}

func (r *reasons) add(reason, name string) {
	if _, seen := r.names[reason]; !seen {
		r.order = append(r.order, reason)
	}
	r.names[reason] = append(r.names[reason], name)
}

// count is how many names there are, for all reasons together.
func (r *reasons) count() int {
	n := 0
	for _, names := range r.names {
		if names[0] != "" {
			n += len(names)
		}
	}
	return n
}

// lines are one for each reason.
func (r *reasons) lines() []string {
	var lines []string
	for _, reason := range r.order {
		names := r.names[reason]
		if names[0] == "" {
			lines = append(lines, reason)
			continue
		}
		shown, more := names[:min(len(names), named)], ""
		if len(names) > named {
			more = ", …"
		}
		lines = append(lines, fmt.Sprintf("%s (%d: %s%s)", reason, len(names), strings.Join(shown, ", "), more))
	}
	return lines
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
