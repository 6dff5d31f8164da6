// Package look is the commands that list locks.
package look

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/tree"
	"github.com/seed-14de3678/redislock/internal/count"
)

// List is redislock ls.
func List() cli.Command {
	return cli.Command{
		Name:    "ls",
		Aliases: []string{"list"},
		Args:    "[flags] [PATTERN]",
		Summary: "list who holds what and who waits",
		Help: `
Every key is listed that is held or left, that somebody stands in line for, or
that a waiting writer has an intent for. Where --prefix or PATTERN say which
keys are locks, those too are listed that are foreign: they hold something that
is no lock, so that nobody can lock them. PATTERN is one as of SCAN: * is any
text, ? any byte, [a-c] one of some bytes, and \ takes the meaning off the next
byte. Quote it, so that the shell does not take it for names of files.

ls goes through the names of all keys with SCAN, a few at a time, on every
master of a Cluster. A key is taken for a lock if it stands behind --prefix, if
there is a line, an intent or a fencing number beside it, or if it begins with a
token as the library makes them; it has a TTL in any case. Without --prefix, a
lock whose token was chosen by a caller may be missed. A PATTERN without
wildcards is one key: it is looked at directly.

On a terminal, long texts are cut so that a line fits, and FENCE is left out if
there is no room. Elsewhere nothing is cut.`,
		Examples: []cli.Example{
			{Line: `redislock ls`, About: "list every lock that is held or waited for"},
			{Line: `redislock ls --waiting`, About: "list what somebody waits for"},
			{Line: `redislock ls -l --holder web-3 'orders:*'`, About: "list what a host holds or waits for, with everybody's place in line"},
			{Line: `redislock ls --prefix lock: --json | jq -r 'select(.ttl_ms > 3600000).key'`, About: "list keys that are locked for more than an hour"},
		},
		Define: defineLs,
		Keys:   true,
	}
}

// A listing is one call of ls.
type listing struct {
	redis   cli.Redis
	json    *bool
	long    bool
	waiting bool
	holder  string

	states  []redislock.KeyState
	notes   survey.Notes
	circles []tree.Circle
}

func defineLs(flags *pflag.FlagSet) cli.Action {
	var l listing
	l.redis.Define(flags)
	l.json = cli.JSONFlag(flags)
	flags.BoolVarP(&l.long, "long", "l", false, "below each key, list its readers, an intent, and who stands in line")
	flags.BoolVar(&l.waiting, "waiting", false, "list only keys that somebody waits for")
	flags.StringVar(&l.holder, "holder", "", "list only keys of somebody whose metadata or caller's id has this `text`, who holds them or waits for them")
	return l.run
}

func (l *listing) run(ctx context.Context, to cli.Streams, args []string) error {
	pattern, err := cli.OnePattern(args)
	if err != nil {
		return err
	}
	conn, err := l.redis.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	query := survey.Query{Pattern: pattern, Foreign: conn.Prefix != "" || strings.Trim(pattern, "*") != "", Notes: &l.notes}
	states, failed := survey.All(ctx, conn, query, to.Err)
	if failed == nil {
		if l.circles, err = tree.Circles(ctx, conn, conn.Client().Inspect, states); err != nil {
			cli.Say(to.Err, "deadlocks could not be looked for: %v\n", err) // the list is complete all the same
		}
	}
	l.states = slices.DeleteFunc(states, l.isLeftOut) // what was found before an error, or Ctrl-C, is true
	if err := l.write(to, conn); err != nil {
		return err
	}
	l.remark(to.Err, conn, pattern, failed)
	return failed
}

// isLeftOut reports whether the flags say that a key is not to be listed.
func (l *listing) isLeftOut(s redislock.KeyState) bool {
	return l.waiting && cli.Waiting(s) == 0 || l.holder != "" && !concerns(s, l.holder)
}

// concerns reports whether a text is in the metadata or the caller's id of somebody who holds a key or waits for it.
func concerns(s redislock.KeyState, text string) bool {
	has := func(metadata, caller string) bool {
		return strings.Contains(metadata, text) || strings.Contains(caller, text)
	}
	return slices.ContainsFunc(s.Holders, func(h redislock.Holder) bool { return has(h.Metadata, h.Caller) }) ||
		s.Intent != nil && has(s.Intent.Metadata, s.Intent.Caller) ||
		slices.ContainsFunc(s.Line, func(w redislock.Waiter) bool { return has(w.Metadata, w.Caller) })
}

// remark says what the list does not: why it is empty, and what may be missing in it.
func (l *listing) remark(w io.Writer, conn *cli.Conn, pattern string, failed error) {
	if len(l.states) == 0 && failed == nil {
		what := "no key"
		if conn.Prefix != "" {
			what += " behind the prefix " + cli.Text(conn.Prefix)
		}
		if pattern != "" {
			what += " that matches " + cli.Text(pattern)
		}
		what += " is locked or waited for"
		if l.waiting || l.holder != "" {
			what += " as the flags ask,"
		}
		cli.Say(w, "%s on %s\n", what, conn.Name)
	}
	if len(l.states) > 0 && pattern == "" {
		cli.Say(w, "%s", conn.Cut(l.states[0].Key))
	}
	if l.notes.Keys > 0 && failed != nil {
		cli.Say(w, "the list is not complete: %s looked at\n", count.Either(l.notes.Keys, "key was", "keys were"))
	}
	l.notes.Tell(w)
	for _, certain := range []bool{false, true} {
		if text := tree.Told(l.circles, certain); text != "" {
			cli.Say(w, "%s; %s says more\n", text, l.redis.Propose("tree"))
		}
	}
}
