package look

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Show is redislock show.
func Show() cli.Command {
	return cli.Command{
		Name:    "show",
		Args:    "[flags] KEY...",
		Summary: "show everything about some keys",
		Help: `
Of each key it shows the mode in which it is locked, every holder, the intent of
a waiting writer, who stands in line, and the last fencing number that was given
for it, which is kept for a day. A waiter who has not asked for 15 s is gone,
and will be passed over. Times are those of this machine's time zone.

Fields of --json, here and of ls:
  key, redis_key  the key, and its name in Redis, which has the prefix;
                  key_base64 stands beside them if the key is not UTF-8
  mode            free, write, read, or foreign; then type is its type in Redis
  ttl_ms          how long the key stays; null if it does not exist, or for ever
  waiting         how many wait: the live waiters in line, and an intent
  fence           the last fencing number; 0 if there is none
  holders         objects with metadata, caller, since, ttl_ms, left
  intent          such an object for a waiting writer, or null
  line            objects with place, mode, metadata, caller, since, alive
Times are in RFC 3339, or null if they are not known.

The exit status is 0 also if a key is free, and 65 if one of them is foreign: it
holds something that is no lock.`,
		Examples: []cli.Example{
			{Line: `redislock show orders:17`, About: "show who holds a key and who waits for it"},
			{Line: `redislock show --prefix lock: --json orders:17 orders:18`, About: "the same of lock:orders:17 and lock:orders:18, for a program"},
		},
		Define: defineShow,
		Keys:   true,
	}
}

func defineShow(flags *pflag.FlagSet) cli.Action {
	var server cli.Redis
	server.Define(flags)
	asJSON := cli.JSONFlag(flags)
	return func(ctx context.Context, to cli.Streams, args []string) error {
		keys, err := cli.Keys(args)
		if err != nil {
			return err
		}
		conn, err := server.Open(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		states, err := conn.Client().Inspect(ctx, keys)
		if err != nil {
			return err
		}
		write := writeStates
		if *asJSON {
			write = writeObjects
		}
		if err := write(to.Out, states, conn.Prefix); err != nil {
			return err
		}
		return foreign(states)
	}
}

// foreign returns an error if some of the keys are no locks.
func foreign(states []redislock.KeyState) error {
	some := slices.DeleteFunc(slices.Clone(states), func(s redislock.KeyState) bool { return s.Mode != redislock.ModeForeign })
	switch len(some) {
	case 0:
		return nil
	case 1:
		return cli.Exit(cli.NoLock, fmt.Errorf("%s is foreign: it holds something that is no lock", cli.Text(some[0].Key)))
	}
	return cli.Exit(cli.NoLock, fmt.Errorf("%s and %d more are foreign: they hold something that is no lock", cli.Text(some[0].Key), len(some)-1))
}

// writeObjects writes one object for each key.
func writeObjects(w io.Writer, states []redislock.KeyState, prefix string) error {
	out := bufio.NewWriter(w)
	for _, s := range states {
		if err := cli.WriteJSON(out, cli.KeyObjectOf(s, prefix)); err != nil {
			return err
		}
	}
	return out.Flush()
}

// writeStates writes some lines about each key. Long texts are not cut.
func writeStates(w io.Writer, states []redislock.KeyState, prefix string) error {
	out := bufio.NewWriter(w)
	say := func(label, text string) { cli.Say(out, "  %-9s %s\n", label, text) } // Flush returns the error
	for i, s := range states {
		if i > 0 {
			cli.Say(out, "\n")
		}
		cli.Say(out, "%s\n", cli.Text(s.Key))
		if prefix != "" {
			say("in Redis", cli.Text(prefix+s.Key))
		}
		say("mode", mode(s))
		for _, h := range s.Holders {
			say("holder", described(h))
		}
		if s.Intent != nil {
			say("intent", described(*s.Intent))
		}
		for i, text := range line(s) {
			say([]string{"line", ""}[min(i, 1)], text)
		}
		if s.Fence > 0 {
			say("fence", strconv.FormatInt(s.Fence, 10))
		}
	}
	return out.Flush()
}

// mode says in which mode a key is locked, or what else it is.
func mode(s redislock.KeyState) string {
	switch {
	case s.Mode == redislock.ModeFree && len(s.Line) > 0:
		return "free, and somebody stands in line"
	case s.Mode == redislock.ModeFree, s.Mode == redislock.ModeForeign:
		return cli.Mode(s)
	}
	return fmt.Sprintf("%s, %s left", s.Mode, cli.Duration(s.TTL))
}
