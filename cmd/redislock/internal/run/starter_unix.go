//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

func starter() cli.Command {
	return cli.Command{
		Name:     starterName,
		Args:     "PATH COMMAND [ARG...]",
		Summary:  "become a command, for redislock run",
		Examples: []cli.Example{{Line: "redislock run -h", About: "the command for people"}},
		Define: func(flags *pflag.FlagSet) cli.Action {
			out := flags.Uint("out", 0, "the `pipe` to the supervisor")
			parent := flags.Int("parent", 0, "the process that has started it")
			from := flags.Int("from", 0, "the process `group` that has the terminal")
			return func(_ context.Context, _ cli.Streams, args []string) error {
				if len(args) < 3 || *out == 0 {
					return cli.Usagef("it is called by redislock run")
				}
				runtime.LockOSThread() // whose matter the death of the parent is
				dieWithParent()
				if *parent != os.Getppid() {
					return cli.Exit(cli.Failed, nil) // nobody would end the command
				}
				return become(inherited(*out), *from, args[1], args[2:])
			}
		},
		Splits:  true,
		Signals: true,
		Hidden:  true,
	}
}

// become takes the terminal if that is to be, and becomes the command. If that cannot be, it says why on the pipe, which
// otherwise ends without a word.
func become(report *os.File, from int, path string, command []string) error {
	if from != 0 {
		takeTerminal(from)
	}
	err := syscall.Exec(path, command, os.Environ())
	if errors.Is(err, syscall.ENOEXEC) { // a script that does not say of what; as execvp(3) does it
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, command[1:]...), os.Environ())
	}
	status := cli.CannotRun
	if errors.Is(err, syscall.ENOENT) && !exists(path) {
		status = cli.NotFound
	}
	text := fmt.Sprintf("cannot run %s: %v", cli.Text(path), err)
	if status == cli.CannotRun && errors.Is(err, syscall.ENOENT) {
		text += " (of what its first line names)"
	}
	_, _ = fmt.Fprintf(report, "%d %s", status, strings.TrimSpace(text))
	return cli.Exit(status, nil)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// takeTerminal makes the group of this process that of the terminal, if that is another one's still.
func takeTerminal(from int) {
	t := openTerminal()
	defer t.close()
	t.give(from, os.Getpid())
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTTOU) // so that the command does not ignore it, as give does
}
