// Package watch is the live view. It has three parts that know nothing of each other's insides: the sampler looks at the server,
// the table makes rows of samples, and draw makes a picture of rows. Package term brings that to a terminal.
package watch

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/watch/term"
)

// Command is redislock watch.
func Command() cli.Command {
	return cli.Command{
		Name:    "watch",
		Args:    "[flags] [PATTERN | KEY...]",
		Summary: "watch holders and lines live",
		Help: `On a terminal the screen is drawn anew every second; h explains it, q ends it.
Elsewhere, with --json or with --count, it writes one table after the other.

One argument with * ? or [ is a pattern, as of SCAN. Others are keys, which are
shown whether they are locked or not. Without an argument all locks are watched.

Beside the fields of "redislock show --json", but for line, --json writes
  time                  when the key was looked at
  gone                  how many stand in line and are gone
  held_ms               for how long the present holder has it; at least so long
                        if held_exactly is false
  longest_wait_ms       for how long the first live waiter has waited
  hand_offs_per_second  null while it is not known
  level, note           stuck, slow or empty, and why

However many keys there are, the server is asked for no more than --budget
commands a second, counted as INFO commandstats counts them: those on the screen
first, the others by turns.`,
		Examples: []cli.Example{
			{Line: `redislock watch`, About: "watch all locks of the server at $REDISLOCK_REDIS"},
			{Line: `redislock watch "orders:*"`, About: "watch the locks of all orders"},
			{Line: `redislock watch --count 1`, About: "write one table"},
			{Line: `redislock watch --json --every 10s orders:17 >> log`, About: "keep a record of one key"},
		},
		Define: define,
		Keys:   true,
	}
}

// A watch is the command.
type watch struct {
	redis  cli.Redis
	every  time.Duration
	budget int
	count  int
	json   *bool

	keys    []string // that are watched; empty: those that are found
	pattern string

	sampler *sampler
	table   *table
	status  status
	rows    []row // of the table, in order
}

func define(flags *pflag.FlagSet) cli.Action {
	w := new(watch)
	w.redis.Define(flags)
	cli.Time(flags, &w.every, "every", time.Second, "the time from one look to the next")
	flags.IntVar(&w.budget, "budget", 5000, "how many commands a second the server is asked for at most")
	flags.IntVar(&w.count, "count", 0, "write so many tables, and end (default: no end)")
	w.json = cli.JSONFlag(flags)
	return w.run
}

// The limits of the flags.
const (
	leastEvery  = 100 * time.Millisecond
	leastBudget = 100
)

func (w *watch) check(args []string) error {
	switch {
	case w.every < leastEvery:
		return cli.Usagef("--every is %v, it is %v at least", w.every, leastEvery)
	case w.budget < leastBudget:
		return cli.Usagef("--budget is %d, it is %d at least", w.budget, leastBudget)
	case w.count < 0:
		return cli.Usagef("--count is %d, it is 0 at least", w.count)
	case slices.Contains(args, ""):
		return cli.Usagef("a key is empty")
	}
	return w.target(args)
}

func (w *watch) target(args []string) error {
	isPattern := func(arg string) bool { return strings.ContainsAny(arg, `*?[`) }
	switch i := slices.IndexFunc(args, isPattern); {
	case len(args) == 0:
	case len(args) == 1 && i == 0:
		w.pattern = args[0]
	case i >= 0:
		return cli.Usagef(`%q is a pattern, which stands alone; a key with such a character is watched as a pattern: a\*b`, args[i])
	default:
		w.keys = slices.Compact(slices.Sorted(slices.Values(args)))
	}
	return nil
}

// run watches until the user has enough.
func (w *watch) run(ctx context.Context, to cli.Streams, args []string) error {
	if err := w.check(args); err != nil {
		return err
	}
	s, err := newSampler(ctx, &w.redis, w.budget, w.pattern, len(w.keys) == 0)
	if err != nil {
		return err
	}
	defer s.close()
	w.sampler, w.table = s, newTable(w.keys)
	w.status = status{server: s.looks.Name, budget: w.budget, searching: s.search != nil}
	if out, ok := w.screen(to); ok {
		terminal, err := term.Open(to.In, out)
		if err == nil {
			return w.live(ctx, terminal)
		}
		cli.Say(to.Err, "redislock watch: there is no terminal to read keys from (%v), so nothing is redrawn\n", err)
	}
	return w.plain(ctx, to)
}

// screen returns the terminal on which the screen can be drawn, if there is one.
func (w *watch) screen(to cli.Streams) (*os.File, bool) {
	out, ok := to.Out.(*os.File)
	if !ok || *w.json || w.count > 0 || os.Getenv("TERM") == "dumb" {
		return nil, false
	}
	isTerminal := cli.IsTerminal(out)
	if isTerminal && !term.Supported {
		cli.Say(to.Err, "redislock watch: the screen is not drawn on this system; one table follows the other\n")
	}
	return out, isTerminal && term.Supported
}
