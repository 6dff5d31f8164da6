// Package look is the commands that list locks.
package look

import (
	"context"
	"errors"
	"flag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// List is redislock ls.
func List() cli.Command {
	return cli.Command{
		Name:     "ls",
		Args:     "[flags] [PATTERN]",
		Summary:  "list who holds what and who waits",
		Examples: []cli.Example{{Line: `redislock ls`, About: "list every lock that is held or waited for"}},
		Define:   defineLs,
	}
}

func defineLs(*flag.FlagSet) cli.Action {
	return func(context.Context, cli.Streams, []string) error { return errors.New("not yet") }
}
