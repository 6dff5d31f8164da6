// Package free is the commands that are about keys becoming free: break and wait.
package free

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// maxReason is how many bytes a reason may have, as Client.Break says.
const maxReason = 1024

// Break is redislock break.
func Break() cli.Command {
	return cli.Command{
		Name:    "break",
		Args:    "[flags] KEY...",
		Summary: "take keys away from whoever holds them",
		Help: `
It shows who holds the keys, asks, takes the keys away, and says from whom.
Whoever is first in line has the keys next. A holder that listens
(WithBreakNotices) learns of it and of the reason at once, any other at its next
renewal; until then two may work at the same time. If somebody else has come to
hold a key while you were asked, it asks again.

All keys are taken in one step, or none: on a Cluster those of each slot, and at
most 1000 at once. A key that is free is no error. With --yes nobody is asked;
it is needed where stdin or stderr is no terminal.

In --json, "broken" has the holders that have lost the key, each with its mode,
and "new" if it came after the question. "now" is what "redislock show --json"
says of the key then; it is missing if that is not known. "error" says why
nobody was broken.

The exit status is 0 if the keys were taken or nobody held them, 1 if the answer
was no or a part has failed, 65 if a key holds something that is no lock: then
no key is taken.`,
		Examples: []cli.Example{
			{Line: `redislock break --reason "host is dead" orders:17`, About: "take a key away from a host that is gone"},
			{Line: `redislock break --yes --json orders:17 orders:18`, About: "in a script: ask nobody, and write what was done as JSON"},
		},
		Define: defineBreak,
		Keys:   true,
	}
}

func defineBreak(flags *pflag.FlagSet) cli.Action {
	var b breaking
	b.server.Define(flags)
	flags.BoolVarP(&b.yes, "yes", "y", false, "ask nobody")
	flags.BoolVar(&b.dry, "dry-run", false, "say who holds the keys and would lose them, and change nothing")
	flags.StringVar(&b.reason, "reason", "", "`why`, for the holders that listen; at most 1024 bytes")
	b.json = cli.JSONFlag(flags)
	return b.run
}

// A breaking is one run of redislock break.
type breaking struct {
	server cli.Redis
	yes    bool
	dry    bool // change nothing
	reason string
	json   *bool

	to     cli.Streams
	conn   *cli.Conn
	client *redislock.Client
	keys   []string
	shown  map[redislock.Holder]bool // who was shown before the question; nil: nobody was asked
}

func (b *breaking) run(ctx context.Context, to cli.Streams, args []string) (err error) {
	if b.keys, err = cli.Keys(args); err != nil {
		return err
	}
	if len(b.reason) > maxReason {
		return cli.Usagef("--reason has %d bytes, it may have %d", len(b.reason), maxReason)
	}
	canAsk := cli.IsTerminal(to.In) && cli.IsTerminal(to.Err)
	if !b.yes && !b.dry && !canAsk {
		return cli.Usagef("nobody can be asked, because stdin or stderr is no terminal: --yes breaks without a question")
	}
	b.to = to
	if b.conn, err = b.server.Open(ctx); err != nil {
		return err
	}
	defer func() { _ = b.conn.Close() }() // what was done is done
	b.client = b.conn.Client()
	defer b.client.Close()
	states, err := inspect(ctx, b.client, b.keys)
	if err != nil {
		return err
	}
	if b.dry {
		return b.say(states)
	}
	if !b.yes && len(holders(states)) > 0 {
		if states, err = b.agree(ctx, states); err != nil {
			return err
		}
	}
	return b.breakAll(ctx, states)
}

// say says who would lose the keys.
func (b *breaking) say(states []redislock.KeyState) error {
	if !*b.json {
		writeStates(b.to.Out, states)
		cli.Say(b.to.Err, "nothing was broken: it is a dry run\n")
		return nil
	}
	for i := range states {
		object := b.object(result{key: states[i].Key, broken: states[i].Holders, now: &states[i]})
		object.Dry = true
		if err := cli.WriteJSON(b.to.Out, object); err != nil {
			return err
		}
	}
	return nil
}

// agree shows who holds the keys, and asks, until the answer is yes and nobody has come who was not shown. It returns who
// holds them then.
func (b *breaking) agree(ctx context.Context, states []redislock.KeyState) ([]redislock.KeyState, error) {
	b.shown = make(map[redislock.Holder]bool)
	lines := bufio.NewReader(b.to.In)
	for first := true; ; first = false {
		if !first {
			cli.Say(b.to.Err, "Meanwhile somebody else has come:\n")
		}
		writeStates(b.to.Err, states)
		for _, h := range holders(states) {
			b.shown[heldBy(h)] = true
		}
		cli.Say(b.to.Err, "Break %s? [y/N] ", countOf(states))
		yes, err := saysYes(ctx, lines)
		if err != nil {
			cli.Say(b.to.Err, "\n")
			return nil, err
		}
		if !yes {
			cli.Say(b.to.Err, "nothing was broken\n")
			return nil, cli.Exit(cli.Failed, nil)
		}
		if states, err = inspect(ctx, b.client, b.keys); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(holders(states), func(h redislock.Holder) bool { return !b.shown[heldBy(h)] }) {
			return states, nil
		}
	}
}

// saysYes waits for a line, and reports whether it says yes. The end of the input is no answer, and so means no. If ctx ends it
// does not wait any more; the lines are not to be used then.
func saysYes(ctx context.Context, lines *bufio.Reader) (bool, error) {
	line, err := cli.Await(ctx, func() (string, error) { return lines.ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	word := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (word == "y" || word == "yes"), nil
}
