package cli

import (
	"cmp"
	"flag"
	"io"
	"strings"
	"unicode/utf8"
)

// width is that of a terminal that every usage text fits.
const width = 80

// line shows how the command is called.
func (t *Tool) line(c Command) string { return strings.TrimSpace(t.Name + " " + c.Name + " " + c.Args) }

// usage lists the commands.
func (t *Tool) usage(w io.Writer) {
	Say(w, "usage: %s command [flags] [arguments]\n\n", t.Name)
	for _, c := range t.shown() {
		lines := Wrap(c.Summary, width-13)
		Say(w, "  %-10s %s\n", c.Name, strings.Join(lines, "\n"+strings.Repeat(" ", 13)))
	}
	Say(w, "\n\"%s help command\" shows the flags of a command, and examples.\n", t.Name)
}

// usageOf shows how the command is called, with its flags and examples.
func (t *Tool) usageOf(c Command, w io.Writer) {
	Say(w, "usage: %s\n\n%s\n", t.line(c), strings.Join(Wrap(capital(c.Summary)+".", width), "\n"))
	if c.Help != "" {
		Say(w, "\n")
	}
	for line := range strings.Lines(strings.TrimSpace(c.Help)) {
		Say(w, "%s\n", strings.Join(Wrap(strings.TrimRight(line, "\n"), width), "\n"))
	}
	if flags := c.defaults(); len(flags) > 0 {
		Say(w, "\nFlags:\n")
		for _, f := range flags {
			Say(w, "  %s\n", f.name)
			say(w, f.about)
		}
	}
	if len(c.Examples) > 0 {
		Say(w, "\nExamples:\n")
	}
	for _, e := range c.Examples {
		Say(w, "  %s\n", e.Line)
		say(w, e.About)
	}
}

// say writes about a flag or an example.
func say(w io.Writer, about string) {
	for _, line := range Wrap(about, width-8) {
		Say(w, "        %s\n", line)
	}
}

// A described is a flag as the usage shows it.
type described struct{ name, about string }

// defaults are the flags with their default values, as package flag describes them.
func (c Command) defaults() (all []described) {
	flags, _ := c.Flags()
	var b strings.Builder
	flags.SetOutput(&b)
	flags.PrintDefaults()
	for line := range strings.Lines(b.String()) {
		name, about, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(name, "  -") {
			flagName, _, _ := strings.Cut(strings.TrimSpace(name)[1:], " ")
			value, _ := valueOf(flags.Lookup(flagName))
			all = append(all, described{name: strings.TrimSpace("-" + flagName + " " + value)})
		}
		last := &all[len(all)-1]
		last.about = strings.TrimSpace(last.about + " " + strings.TrimSpace(about))
	}
	return all
}

// values are what the usage calls the value of a flag, by what package flag calls it.
var values = map[string]string{"duration": "time", "int": "number", "uint": "number", "float": "number", "string": "text", "value": "number"}

// valueOf says what the value of a flag is called, and what the flag is for.
func valueOf(f *flag.Flag) (value, about string) {
	value, about = flag.UnquoteUsage(f)
	return cmp.Or(values[value], value), about
}

// Wrap breaks a line at its spaces. A line that is short enough stays as it is.
func Wrap(text string, width int) (lines []string) {
	for utf8.RuneCountInString(text) > width {
		at, n := -1, 0
		for i, r := range text {
			if n++; n > width+1 {
				break
			}
			if r == ' ' && strings.TrimSpace(text[:i]) != "" {
				at = i
			}
		}
		if at < 0 {
			break // one long word
		}
		lines, text = append(lines, strings.TrimRight(text[:at], " ")), text[at+1:]
	}
	return append(lines, text)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
