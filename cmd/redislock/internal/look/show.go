package look

import (
	"context"
	"errors"
	"flag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Show is redislock show.
func Show() cli.Command {
	return cli.Command{
		Name:     "show",
		Args:     "[flags] KEY...",
		Summary:  "show everything about some keys",
		Examples: []cli.Example{{Line: `redislock show orders:17`, About: "show who holds a key and who waits for it"}},
		Define:   defineShow,
	}
}

func defineShow(*flag.FlagSet) cli.Action {
	return func(context.Context, cli.Streams, []string) error { return errors.New("not yet") }
}
