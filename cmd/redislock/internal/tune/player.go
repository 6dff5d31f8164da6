package tune

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

// playerName is the command that the tool calls for each process of the load.
const playerName = "tune-load"

// Player is the command of one process of the load. Nobody calls it but tune.
func Player() cli.Command {
	return cli.Command{
		Name:     playerName,
		Summary:  "play a part of the load of tune, which calls this",
		Examples: []cli.Example{{Line: "redislock tune", About: "calls it"}},
		Hidden:   true,
		Signals:  true,
		Define: func(*pflag.FlagSet) cli.Action {
			return func(ctx context.Context, to cli.Streams, _ []string) error {
				// Ctrl-C reaches every process of a terminal. This one ends when its standard input does.
				signal.Ignore(os.Interrupt)
				return serve(ctx, to)
			}
		},
	}
}

// serve plays what it is told to until its input ends.
func serve(ctx context.Context, to cli.Streams) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in, out := json.NewDecoder(to.In), json.NewEncoder(to.Out)
	var s setup
	if err := in.Decode(&s); err != nil {
		return fmt.Errorf("what to play: %w", err)
	}
	conn, err := (&cli.Redis{URL: s.URL, Prefix: s.Prefix}).Open(ctx)
	if failed := out.Encode(answerOf(ctx, measure.Part{}, err)); failed != nil || err != nil {
		return failed
	}
	defer conn.Close() //nolint:errcheck // everything was released before
	player := measure.NewPlayer(conn.RDB, s.Load)
	clients := make([]*redislock.Client, len(s.Policies)) // each policy has its own, as a program has one
	for i := range clients {
		clients[i] = conn.Client()
		defer clients[i].Close()
	}
	orders := make(chan order)
	go func() {
		defer close(orders)
		for o := (order{}); in.Decode(&o) == nil; o = (order{}) {
			orders <- o
		}
		cancel(io.EOF) // a slice that is played has nobody any more who wants it
	}()
	for o := range orders {
		options, err := parseOptions(s.Policies[o.Policy])
		var seen measure.Part
		if err == nil {
			options.Metadata, options.Wait = s.Mark, s.Wait
			seen, err = player.Play(ctx, clients[o.Policy], &options, o.Slice)
		}
		if err := out.Encode(answerOf(ctx, seen, err)); err != nil {
			return err
		}
	}
	return nil
}
