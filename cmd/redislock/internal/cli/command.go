// Package cli is what the commands of redislock have in common: flags and exit statuses, the
// connection to Redis, and what is written to a terminal, to a file, or as JSON.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Command is one subcommand.
type Command struct {
	Name    string
	Aliases []string
	Args    string // as the usage shows them
	Summary string // one line, without a period
	// Help are further paragraphs for the usage, in lines of at most 80 characters.
	Help     string
	Examples []Example // at least one
	// Define declares the flags, and returns what to run when they are parsed.
	Define func(*pflag.FlagSet) Action
	// Splits says that the arguments before and behind "--" mean different things. Then the Action finds "--" among them.
	Splits bool
	// Signals says that the Action sees to signals by itself. Otherwise SIGINT and SIGTERM end its context.
	Signals bool
	// Values are what the arguments can be, for completion; nil: no fixed words.
	Values []string
	// Keys says that the arguments are keys of locks.
	Keys bool
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
	Summary  string
	Commands []Command
	// Locks finds the keys that begin with a text and are locked or waited for, for completion.
	Locks func(ctx context.Context, conn *Conn, begin string) []string
}

// Main is the whole program: it runs the command of the command line, and returns the exit status.
func (t *Tool) Main() int {
	redis.SetLogger(silence{}) // what it says is in the errors, too
	ctx, to := context.Background(), Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	root := t.Root(to)
	args, err := arrange(root, os.Args[1:])
	if t.seesToSignals(args) {
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
	return execute(ctx, root, to, args, err)
}

func (t *Tool) seesToSignals(args []string) bool {
	return len(args) > 0 && slices.ContainsFunc(t.Commands, func(c Command) bool { return c.Name == args[0] && c.Signals })
}

// Run finds the command, runs it, and returns the exit status.
func (t *Tool) Run(ctx context.Context, to Streams, args []string) int {
	root := t.Root(to)
	args, err := arrange(root, args)
	return execute(ctx, root, to, args, err)
}

// execute runs the command of a line that was arranged, or says why it could not be.
func execute(ctx context.Context, root *cobra.Command, to Streams, args []string, err error) int {
	ctx = withLast(ctx)
	if err != nil {
		c, _, _ := root.Find(args)
		return report(ctx, c, to, err)
	}
	root.SetArgs(args)
	if slices.Contains(args[:max(len(args)-1, 0)], "--") {
		ctx = context.WithValue(ctx, dashed{}, true)
	}
	c, err := root.ExecuteContextC(ctx)
	return report(ctx, c, to, err)
}

// report says what is wrong, and returns the exit status.
func report(ctx context.Context, c *cobra.Command, to Streams, err error) int {
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
		Say(to.Err, "%s: interrupted\n", c.CommandPath())
		return Interrupted
	}
	Say(to.Err, "%s: %v\n", c.CommandPath(), err)
	if status == Usage {
		Say(to.Err, "usage: %s\n\"%s --help\" says more.\n", c.UseLine(), c.CommandPath())
	}
	return status
}

// Say writes to somebody. That it could not be written there is nobody to tell.
func Say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// silence is a logger that writes nothing.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
