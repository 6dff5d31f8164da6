// Package watch is the live view.
package watch

import (
	"context"
	"errors"
	"flag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Command is redislock watch.
func Command() cli.Command {
	return cli.Command{
		Name:     "watch",
		Args:     "[flags] [PATTERN | KEY...]",
		Summary:  "watch holders and lines live",
		Examples: []cli.Example{{Line: `redislock watch "orders:*"`, About: "watch the locks of all orders"}},
		Define:   defineWatch,
	}
}

func defineWatch(*flag.FlagSet) cli.Action {
	return func(context.Context, cli.Streams, []string) error { return errors.New("not yet") }
}
