package free

import (
	"context"
	"errors"
	"flag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Wait is redislock wait.
func Wait() cli.Command {
	return cli.Command{
		Name:     "wait",
		Args:     "[flags] KEY...",
		Summary:  "wait until keys are free",
		Examples: []cli.Example{{Line: `redislock wait -timeout 1m orders:17`, About: "return when nobody holds the key, or after a minute"}},
		Define:   defineWait,
	}
}

func defineWait(*flag.FlagSet) cli.Action {
	return func(context.Context, cli.Streams, []string) error { return errors.New("not yet") }
}
