// Package tune is the command that compares ways to wait.
package tune

import (
	"context"
	"errors"
	"flag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Command is redislock tune.
func Command() cli.Command {
	return cli.Command{
		Name:     "tune",
		Args:     "[flags]",
		Summary:  "compare ways to wait under your own load",
		Examples: []cli.Example{{Line: `redislock tune -hold 20ms -keys 3 -workers 64`, About: "say which way of waiting suits this load"}},
		Define:   defineTune,
	}
}

func defineTune(*flag.FlagSet) cli.Action {
	return func(context.Context, cli.Streams, []string) error { return errors.New("not yet") }
}
