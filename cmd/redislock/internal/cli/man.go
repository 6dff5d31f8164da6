package cli

import (
	"context"
	"flag"
	"fmt"
	"strings"
)

// ManCommand is redislock man, which writes the manual page of this tool.
func ManCommand(tool func() *Tool) Command {
	return Command{
		Name:     "man",
		Summary:  "write the manual page, for man(1)",
		Examples: []Example{{Line: "redislock man | man -l -", About: "read it"}},
		Define: func(*flag.FlagSet) Action {
			return func(_ context.Context, to Streams, args []string) error {
				if err := NoArguments(args); err != nil {
					return err
				}
				Say(to.Out, "%s", tool().manual())
				return nil
			}
		},
	}
}

// statuses are the exit statuses, for the manual page.
var statuses = []struct {
	status int
	about  string
}{
	{0, "Everything is well."},
	{Failed, "The answer is no, something is wrong, or an error has no status of its own."},
	{Usage, "The command line is wrong."},
	{NoLock, "A key is foreign: it holds something that is no lock."},
	{Unavailable, "Redis cannot be reached, or cannot be used now."},
	{NotObtained, "A lock was not to be had, or a key did not become free in time."},
	{Refused, "Redis refuses this user."},
	{Lost, "A lock was lost while it was used."},
	{CannotRun, "The command of run cannot be started."},
	{NotFound, "The command of run was not found."},
	{Interrupted, "It was interrupted."},
	{ClosedPipe, "Nobody reads its output any more."},
}

// manual writes the manual page in the macros of man(7).
func (t *Tool) manual() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- use, show and tune locks in Redis\n", strings.ToUpper(t.Name), t.Name)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I command\n[flags] [arguments]\n.SH COMMANDS\n", t.Name)
	for _, c := range t.shown() {
		t.manualOf(&b, c)
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, s := range statuses {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", s.status, roff(s.about))
	}
	fmt.Fprintf(&b, ".SH ENVIRONMENT\n.TP\n.B %s\n%s\n", RedisVariable, roff("The url of the server, if there is no flag -redis."))
	fmt.Fprintf(&b, ".TP\n.B NO_COLOR\n%s\n", roff("If it is not empty nothing is coloured."))
	return b.String()
}

// manualOf writes about one command.
func (t *Tool) manualOf(b *strings.Builder, c Command) {
	fmt.Fprintf(b, ".SS %s\n.B %s\n.PP\n%s.\n", roff(c.Name), roff(t.line(c)), roff(capital(c.Summary)))
	if c.Help != "" {
		fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(strings.TrimSpace(c.Help)))
	}
	for _, o := range c.options() {
		name := "-" + o.name
		if o.value != "" {
			name += " " + o.value
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(capital(o.about)))
	}
	for _, e := range c.Examples {
		fmt.Fprintf(b, ".PP\n%s:\n.PP\n.RS\n.nf\n%s\n.fi\n.RE\n", roff(capital(e.About)), roff(e.Line))
	}
}

// roff escapes a text, so that no line of it is taken for a request, and no character for something else.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "…", "...", "“", `"`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
