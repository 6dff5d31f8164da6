// Package run is the command that runs another command under a lock.
package run

import (
	"context"
	"errors"
	"flag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Command is redislock run.
func Command() cli.Command {
	return cli.Command{
		Name:     "run",
		Args:     "[flags] KEY... -- COMMAND [ARG...]",
		Summary:  "run a command under the locks of all keys",
		Examples: []cli.Example{{Line: `redislock run orders:17 -- ./charge 17`, About: "run a command while nobody else has the lock"}},
		Define:   defineRun,
	}
}

func defineRun(*flag.FlagSet) cli.Action {
	return func(context.Context, cli.Streams, []string) error { return errors.New("not yet") }
}
