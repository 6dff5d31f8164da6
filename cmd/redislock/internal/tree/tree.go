// Package tree is the command that draws who waits for whom.
package tree

import (
	"context"
	"errors"
	"flag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Command is redislock tree.
func Command() cli.Command {
	return cli.Command{
		Name:     "tree",
		Args:     "[flags] [PATTERN]",
		Summary:  "draw who waits for whom",
		Examples: []cli.Example{{Line: `redislock tree`, About: "draw who waits for whom, with possible deadlocks"}},
		Define:   defineTree,
	}
}

func defineTree(*flag.FlagSet) cli.Action {
	return func(context.Context, cli.Streams, []string) error { return errors.New("not yet") }
}
