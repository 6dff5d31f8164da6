package main

import (
	"fmt"
	"regexp"
	"strings"
)

const notRun = "not run: "

// most is how many names of what was not run are written for each reason.
const most = 5

// reasons are why something was not run.
type reasons struct {
	order []string            // as they came
	names map[string][]string // what was not run, by reason; an empty name if the reason says it all
}

func (r *reasons) add(reason, name string) {
	reason, _ = adviceFor(reason)
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

// blocks are the lines of each reason: the reason with names of what was not run, as many as there is room for, and how to get
// what was lacking. Those that somebody can do something about come first.
func (r *reasons) blocks() [][]string {
	var known, rest [][]string
	for _, reason := range r.order {
		line := notRun + named(reason, r.names[reason])
		if _, get := adviceFor(reason); get != "" {
			known = append(known, []string{line, "  get it: " + get})
		} else {
			rest = append(rest, []string{line})
		}
	}
	return append(known, rest...)
}

// named is a reason with the names for which it holds.
func named(reason string, names []string) string {
	if names[0] == "" {
		return reason
	}
	some, more := names[:min(len(names), most)], ""
	if len(names) > most {
		more = ", …"
	}
	room := max(width-len(notRun)-len([]rune(reason)), 20)
	return reason + cut(fmt.Sprintf(" (%d: %s%s", len(names), strings.Join(some, ", "), more), room-1) + ")"
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
