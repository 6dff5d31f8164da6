// Package doctor is the command that looks for what breaks locks on a server.
package doctor

import (
	"context"
	"errors"
	"flag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Command is redislock doctor.
func Command() cli.Command {
	return cli.Command{
		Name:     "doctor",
		Args:     "[flags]",
		Summary:  "look for what breaks locks on a server",
		Examples: []cli.Example{{Line: `redislock doctor`, About: "check the server at $REDISLOCK_REDIS"}},
		Define:   defineDoctor,
	}
}

func defineDoctor(*flag.FlagSet) cli.Action {
	return func(context.Context, cli.Streams, []string) error { return errors.New("not yet") }
}
