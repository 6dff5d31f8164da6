package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// A report is written while the checks run.
type report struct {
	to     io.Writer
	screen *cli.Screen // tells whether there are colours
	asJSON bool
	many   bool // servers, so that each is named
	counts map[Status]int
}

// newReport writes to w. Colours are on terminals alone.
func newReport(w io.Writer, asJSON, many bool) *report {
	return &report{to: w, screen: cli.NewScreen(w), asJSON: asJSON, many: many, counts: map[Status]int{}}
}

// width is how long a line of an explanation gets.
const width = 100

var colours = map[Status]string{OK: cli.Green, Unknown: cli.Cyan, Warning: cli.Yellow, Fault: cli.Red}

// add writes what a check has found.
func (r *report) add(findings []Finding) error {
	for _, f := range findings {
		r.counts[f.Status]++
		if r.asJSON {
			if err := cli.WriteJSON(r.to, f); err != nil {
				return err
			}
		} else if _, err := io.WriteString(r.to, r.text(f)); err != nil {
			return err
		}
	}
	return nil
}

// text is a finding in one line, and beneath it what it means.
func (r *report) text(f Finding) string {
	const head = 7 + 2 + 12 + 2
	var b strings.Builder
	found := f.Found
	switch n := len(f.Servers); {
	case r.many && n > 3:
		found += " (" + count.Of(n, "server") + ")"
	case r.many && n > 0:
		found += " (" + strings.Join(f.Servers, ", ") + ")"
	}
	fmt.Fprintf(&b, "%s  %-12s  %s\n", r.screen.Paint(colours[f.Status], fmt.Sprintf("%-7s", f.Status)), f.Check, found)
	for _, more := range []struct{ label, text string }{{"means: ", f.Means}, {"mend:  ", f.Mend}} {
		if more.text == "" {
			continue
		}
		for _, line := range cli.Wrap(more.text, width-head-len(more.label)) {
			fmt.Fprintf(&b, "%*s%-7s%s\n", head, "", more.label, line)
			more.label = ""
		}
	}
	return b.String()
}

// end writes the sum.
func (r *report) end(checks int, name string) error {
	if r.asJSON {
		return nil
	}
	_, err := fmt.Fprintf(r.to, "\n%s of %s: %s, %s, %d unknown, %d ok\n", count.Of(checks, "check"), name,
		count.Of(r.counts[Fault], "fault"), count.Of(r.counts[Warning], "warning"), r.counts[Unknown], r.counts[OK])
	return err
}
