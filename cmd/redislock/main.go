// Command redislock shows the library of the same name at work.
//
//	redislock demo [-redis url] [-quick] [act ...]
//	redislock help [command]
//
// The demo plays five acts in less than ten seconds: money that only a lock keeps from getting
// lost, the error that a refused caller reads, readers and a writer, the watchdog, and back-off
// policies side by side. Each act ends with a verdict, which is worked out from what was seen. By
// default the demo uses a server inside the program. With -redis it uses a real server, under keys
// of its own, and leaves none of them behind.
//
// The exit status is 0 if everything is as promised, 1 if something is not or the server fails, 2
// if the command line is wrong, and 130 if it was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// A command is one subcommand.
type command struct {
	name    string
	args    string // as the usage shows them
	summary string
	// define declares the flags, and returns what to run when they are parsed.
	define func(*flag.FlagSet) action
}

// An action does what a command is for, with the arguments that are not flags.
type action func(ctx context.Context, to streams, args []string) error

// streams are where a command writes: its results, and what else there is to say.
type streams struct{ out, err io.Writer }

// A usageError says what is wrong with the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// commands is the table of all of them. It is a function because help reads it.
func commands() []command {
	return []command{
		{"demo", "[flags] [act ...]", "the library at work, in acts: " + actNames(), defineDemo},
		{"help", "[command]", "what a command does and which flags it has", defineHelp},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		// From then on another Ctrl-C does not wait for what the first has begun. At once would be
		// too soon: timeout(1) sends its signal twice.
		time.AfterFunc(time.Second, stop)
	})
	os.Exit(run(ctx, streams{os.Stdout, os.Stderr}, os.Args[1:]))
}

// run finds the command, runs it, and returns the exit status.
func run(ctx context.Context, to streams, args []string) int {
	if len(args) == 0 {
		usage(to.err)
		return exitUsage
	}
	name := args[0]
	if name == "-h" || name == "-help" || name == "--help" {
		name = "help"
	}
	c, ok := find(name)
	if !ok {
		say(to.err, "redislock: unknown command %q\n\n", name)
		usage(to.err)
		return exitUsage
	}
	return c.exec(ctx, to, args[1:])
}

func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// exec parses the flags, runs the action and reports its error.
func (c command) exec(ctx context.Context, to streams, args []string) int {
	flags, act := c.flags()
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.usage(to.out)
		return 0
	case err != nil:
		err = usageError(err.Error())
	default:
		err = act(ctx, to, flags.Args())
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		say(to.err, "redislock %s: interrupted\n", c.name)
		return exitInterrupted
	}
	say(to.err, "redislock %s: %v\n", c.name, err)
	if _, ok := errors.AsType[usageError](err); ok {
		c.usage(to.err)
		return exitUsage
	}
	return exitFailed
}

// flags returns the flags of the command, and what to run when they are parsed.
func (c command) flags() (*flag.FlagSet, action) {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // exec says it, once
	flags.Usage = func() {}
	return flags, c.define(flags)
}

// usage shows how the command is called.
func (c command) usage(w io.Writer) {
	say(w, "usage: redislock %s %s\n\n%s\n", c.name, c.args, c.summary)
	flags, _ := c.flags()
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// usage lists the commands.
func usage(w io.Writer) {
	say(w, "usage: redislock command [flags] [arguments]\n\n")
	for _, c := range commands() {
		say(w, "  %-5s %-18s %s\n", c.name, c.args, c.summary)
	}
}

// defineHelp is the command that shows the usage of all, or of one.
func defineHelp(*flag.FlagSet) action {
	return func(_ context.Context, to streams, args []string) error {
		if len(args) == 0 {
			usage(to.out)
			return nil
		}
		c, ok := find(args[0])
		if !ok {
			return usageError(fmt.Sprintf("unknown command %q", args[0]))
		}
		c.usage(to.out)
		return nil
	}
}
