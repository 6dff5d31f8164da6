// Package cli is what the commands of redislock have in common: flags and exit statuses, the
// connection to Redis, and what is written to a terminal, to a file, or as JSON.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Command is one subcommand.
type Command struct {
	Name    string
	Args    string // as the usage shows them
	Summary string // one line, without a period
	// Help are further paragraphs for the usage, in lines of at most 80 characters.
	Help     string
	Examples []Example // at least one
	// Define declares the flags, and returns what to run when they are parsed.
	Define func(*flag.FlagSet) Action
	// Splits says that the arguments before and behind "--" mean different things. Then the Action finds "--" among them.
	Splits bool
	// Signals says that the Action sees to signals by itself. Otherwise SIGINT and SIGTERM end its context.
	Signals bool
	// Values are what the arguments can be, for completion; nil: no fixed words.
	Values []string
	// Hidden commands are called by the tool itself.
	Hidden bool
}

// An Example is a command line and what it does.
type Example struct{ Line, About string }

// An Action does what a command is for, with the arguments that are not flags.
type Action func(ctx context.Context, to Streams, args []string) error

// Streams are where a command reads from and writes to: its results, and what else there is to say.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// A Tool is a table of commands.
type Tool struct {
	Name     string
	Commands []Command
}

// Main is the whole program: it runs the command of the command line, and returns the exit status.
func (t *Tool) Main() int {
	redis.SetLogger(silence{}) // what it says is in the errors, too
	ctx, args := context.Background(), os.Args[1:]
	if c, ok := t.Find(strings.Join(args[:min(len(args), 1)], "")); ok && c.Signals {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // writing where nobody reads does not end it
	} else {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, func() {
			// From then on another Ctrl-C does not wait for what the first has begun. At once would be
			// too soon: timeout(1) sends its signal twice.
			time.AfterFunc(time.Second, stop)
		})
		ctx = withPipe(ctx)
	}
	return t.Run(ctx, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, args)
}

// Run finds the command, runs it, and returns the exit status.
func (t *Tool) Run(ctx context.Context, to Streams, args []string) int {
	if len(args) == 0 {
		t.usage(to.Err)
		return Usage
	}
	name, rest := args[0], args[1:]
	if isHelp(name) {
		return t.help(to, rest)
	}
	c, ok := t.Find(name)
	if !ok {
		Say(to.Err, "%s: unknown command %q\n\n", t.Name, name)
		t.usage(to.Err)
		return Usage
	}
	return t.exec(ctx, c, to, rest)
}

func isHelp(word string) bool {
	return slices.Contains([]string{"help", "-h", "-help", "--help"}, word)
}

// Find returns the command of a name.
func (t *Tool) Find(name string) (Command, bool) {
	i := slices.IndexFunc(t.Commands, func(c Command) bool { return c.Name == name })
	if i < 0 {
		return Command{}, false
	}
	return t.Commands[i], true
}

// exec parses the flags, runs the action and reports its error.
func (t *Tool) exec(ctx context.Context, c Command, to Streams, args []string) int {
	ctx = withSession(ctx)
	flags, act := c.Flags()
	args, err := parse(flags, args, c.Splits)
	switch {
	case errors.Is(err, flag.ErrHelp):
		t.usageOf(c, to.Out)
		return 0
	case err != nil:
		err = UsageError(err.Error())
	default:
		err = Explain(ctx, act(ctx, to, args))
	}
	status := statusOf(err)
	if isClosedPipe(ctx, err) {
		return ClosedPipe
	}
	if status == 0 {
		return 0
	}
	if e, ok := errors.AsType[*StatusError](err); ok && e.Err == nil {
		return status
	}
	// A command that has given this status itself says more.
	if e, ok := errors.AsType[*StatusError](err); ctx.Err() != nil && (!ok || e.Status != Interrupted) {
		Say(to.Err, "%s %s: interrupted\n", t.Name, c.Name)
		return Interrupted
	}
	Say(to.Err, "%s %s: %v\n", t.Name, c.Name, err)
	if status == Usage {
		Say(to.Err, "usage: %s\n\"%s %s -h\" says more.\n", t.line(c), t.Name, c.Name)
	}
	return status
}

// parse takes flags from anywhere before "--", and returns the other arguments.
func parse(flags *flag.FlagSet, args []string, splits bool) (words []string, err error) {
	for len(args) > 0 {
		n := 1
		switch arg := args[0]; {
		case arg == "--" && splits:
			return append(words, args...), nil
		case arg == "--":
			return append(words, args[1:]...), nil
		case len(arg) < 2 || arg[0] != '-':
			words = append(words, arg)
		default:
			if len(args) > 1 && takesNext(flags, arg) {
				n = 2
			}
			if err := flags.Parse(args[:n]); err != nil {
				return nil, err
			}
		}
		args = args[n:]
	}
	return words, nil
}

// takesNext reports whether the value of a flag is the argument behind it, which may be "--" or look like a flag.
func takesNext(flags *flag.FlagSet, arg string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	f := flags.Lookup(name) // nil if there is a value in the argument
	if f == nil {
		return false
	}
	alone, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !alone.IsBoolFlag()
}

// Flags returns the flags of the command, and what to run when they are parsed.
func (c Command) Flags() (*flag.FlagSet, Action) {
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // exec says it, once
	flags.Usage = func() {}
	return flags, c.Define(flags)
}

// help shows the usage of all commands, or of one.
func (t *Tool) help(to Streams, args []string) int {
	if len(args) == 0 || isHelp(args[0]) {
		t.usage(to.Out)
		return 0
	}
	c, ok := t.Find(args[0])
	if !ok {
		Say(to.Err, "%s: unknown command %q\n\n", t.Name, args[0])
		t.usage(to.Err)
		return Usage
	}
	t.usageOf(c, to.Out)
	return 0
}

// Say writes to somebody. That it could not be written there is nobody to tell.
func Say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// silence is a logger that writes nothing.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
