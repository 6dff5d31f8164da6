package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usage is what is said of a command behind its description.
const usage = `usage: {{.UseLine}}{{if .Aliases}} (or {{join .Aliases ", "}}){{end}}
{{if .HasAvailableSubCommands}}{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name 11}} {{hang .Short}}{{end}}{{end}}

"{{.CommandPath}} COMMAND --help" shows the flags of a command, and examples.
{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsagesWrapped 78 | trimTrailingWhitespaces}}
{{end}}{{if .HasExample}}
Examples:
{{.Example}}
{{end}}`

func init() {
	cobra.AddTemplateFunc("join", strings.Join)
	cobra.AddTemplateFunc("hang", func(text string) string { return strings.Join(Wrap(text, width-14), "\n              ") })
	cobra.EnableCommandSorting = false
}

// Root makes the commands of cobra, which parse a command line once.
func (t *Tool) Root(to Streams) *cobra.Command {
	root := &cobra.Command{
		Use: t.Name + " command [flags] [arguments]", Short: t.Summary, Long: overview(t.Summary), Version: versionsOf(buildInfo()).String(),
		SuggestionsMinimumDistance: 2, SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs,
	}
	root.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(c, args[0])
		}
		root.SetOut(to.Err)
		_ = root.Usage()
		return Exit(Usage, nil)
	}
	root.SetIn(to.In)
	root.SetOut(to.Out)
	root.SetErr(to.Err)
	root.SetUsageTemplate(usage)
	root.SetVersionTemplate("{{.Version}}")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(&cobra.Command{
		Use: "help [command]", Short: "show the flags of a command, with examples", DisableFlagsInUseLine: true,
		ValidArgsFunction: func(c *cobra.Command, _ []string, word string) (names []string, _ cobra.ShellCompDirective) {
			for _, sub := range c.Root().Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name())
				}
			}
			return unless(names, nil, word), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			topic, err := topicOf(c.Root(), args)
			if err != nil {
				return err
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	})
	for _, c := range t.Commands {
		root.AddCommand(t.add(c, to))
	}
	root.InitDefaultCompletionCmd(t.Name)
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Short = "write a script with which a shell completes commands, flags and keys"
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultVersionFlag()
	return root
}

// add makes one command.
func (t *Tool) add(c Command, to Streams) *cobra.Command {
	examples := make([]string, len(c.Examples))
	for i, e := range c.Examples {
		examples[i] = "  " + e.Line + "\n        " + e.About
	}
	made := &cobra.Command{
		Use: strings.TrimSpace(c.Name + " " + c.Args), Aliases: c.Aliases, Short: c.Summary, Hidden: c.Hidden, DisableFlagsInUseLine: true,
		Long:    fit(capital(c.Summary) + ".\n\n" + strings.TrimSpace(c.Help)),
		Example: strings.Join(examples, "\n"),
		Args:    cobra.ArbitraryArgs,
	}
	made.Flags().SortFlags = false
	act := c.Define(made.Flags())
	made.RunE = func(cmd *cobra.Command, args []string) error {
		if at := cmd.ArgsLenAtDash(); c.Splits && at >= 0 {
			args = slices.Insert(slices.Clone(args), at, "--")
		}
		return Explain(cmd.Context(), act(cmd.Context(), to, args))
	}
	made.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		switch {
		case c.Splits && cmd.Context().Value(dashed{}) != nil:
			return nil, cobra.ShellCompDirectiveDefault
		case c.Keys:
			return t.keys(cmd, args, word), cobra.ShellCompDirectiveNoFileComp
		}
		return unless(c.Values, args, word), cobra.ShellCompDirectiveNoFileComp
	}
	made.Flags().VisitAll(func(f *pflag.Flag) {
		if words, ok := f.Annotations[wordsOf]; ok {
			_ = made.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	return made
}

// dashed is the key of contexts in which somebody completes a word behind "--".
type dashed struct{}

// unless returns the words that begin like one that is being typed, without those that were given before.
func unless(words, given []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(given, w) || !strings.HasPrefix(w, word) })
}

// wordsOf is the annotation of flags with the words that they can be.
const wordsOf = "words"

// Words says what a flag can be, for completion.
func Words(flags *pflag.FlagSet, name string, words ...string) {
	_ = flags.SetAnnotation(name, wordsOf, words)
}

// keys asks the server for keys that are locked, for completion. If it does not answer at once, there are none.
func (t *Tool) keys(cmd *cobra.Command, given []string, word string) []string {
	if t.Locks == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	r := Redis{flags: cmd.Flags()}
	r.URL, _ = cmd.Flags().GetString("redis")
	r.Prefix, _ = cmd.Flags().GetString("prefix")
	conn, err := r.Open(ctx)
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	found := unless(t.Locks(ctx, conn, word), given, word)
	return slices.DeleteFunc(found, func(key string) bool { return Text(key) != key })
}

// width is that of a terminal that every usage text fits.
const width = 80

// fit breaks lines that are too long, and goes on in them as they were indented.
func fit(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		lines = append(lines, strings.Join(Wrap(line, width), "\n"+indent))
	}
	return strings.Join(lines, "\n")
}

func capital(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// topicOf is the command that somebody wants to read about.
func topicOf(root *cobra.Command, args []string) (*cobra.Command, error) {
	topic, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return nil, unknown(root, args[0])
	}
	return topic, nil
}

// unknown is the error of a command that is not there.
func unknown(root *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %s", Text(name))
	if near := root.SuggestionsFor(name); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return UsageError(text)
}

// flagError says what is wrong with a flag.
func flagError(c *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := missing.GetSpecifiedName()
		if near := nearFlags(c.Flags(), name); len(name) > 1 && len(near) > 0 {
			return Usagef("unknown flag --%s; did you mean --%s?", name, near[0])
		}
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return Usagef("--%s %s: %v", bad.GetFlag().Name, Text(bad.GetValue()), bad.Unwrap())
	}
	return UsageError(err.Error())
}

// nearFlags are the flags that begin with a word, or can be had of it by few changes of a letter: one in three, and two at most.
// Cobra looks for such commands, so that commands are made with the names of the flags.
func nearFlags(flags *pflag.FlagSet, word string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: min(len(word)/3, 2)}
	flags.VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}}) // those that do nothing are not suggested
	})
	return names.SuggestionsFor(word)
}
