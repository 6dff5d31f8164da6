// Package free is the commands that are about keys becoming free: break and wait.
package free

import (
	"context"
	"errors"
	"flag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Break is redislock break.
func Break() cli.Command {
	return cli.Command{
		Name:     "break",
		Args:     "[flags] KEY...",
		Summary:  "take keys away from whoever holds them",
		Examples: []cli.Example{{Line: `redislock break -reason "host is dead" orders:17`, About: "take a key away from a host that is gone"}},
		Define:   defineBreak,
	}
}

func defineBreak(*flag.FlagSet) cli.Action {
	return func(context.Context, cli.Streams, []string) error { return errors.New("not yet") }
}
