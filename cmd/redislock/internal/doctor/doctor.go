// Package doctor is the command that looks for what breaks locks on a server.
package doctor

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// options are what the user has said.
type options struct {
	redis    cli.Redis
	only     []string
	strict   bool
	asJSON   *bool
	replicas int           // that each primary is configured to have; -1: what the servers know of
	ttl      time.Duration // the shortest that is in use
	keys     int           // how many keys are looked at
	watch    time.Duration // how long lines are watched whose keys others hold
	pattern  string        // of the keys; empty: all behind the prefix
}

// Command is redislock doctor.
func Command() cli.Command {
	return cli.Command{
		Name:    "doctor",
		Args:    "[flags] [PATTERN]",
		Summary: "look for what breaks locks on a server",
		Help: `It looks at every server: the primary and its replicas, as it or the Sentinels
know them, or all nodes of a Cluster. Each check says what it has found, what
that means for locks, and how to mend it. It changes nothing. What the user may
not ask is "unknown". PATTERN, or --prefix, says which keys are locks.

` + strings.Join(cli.Wrap("The checks are "+strings.Join(checkNames(), ", ")+".", 80), "\n") + `

The exit status is 1 if there is a fault, with --strict also if there is a
warning.`,
		Examples: []cli.Example{
			{Line: `redislock doctor`, About: "check the server at $REDISLOCK_REDIS"},
			{Line: `redislock doctor --prefix lock: --replicas 2`, About: "the same, where locks begin with lock: and each primary has two replicas"},
			{Line: `redislock doctor --json --only eviction,rights`, About: "two of the checks, for a program"},
		},
		Define: defineDoctor,
		Keys:   true,
	}
}

func defineDoctor(flags *pflag.FlagSet) cli.Action {
	var o options
	o.redis.Define(flags)
	o.asJSON = cli.JSONFlag(flags)
	flags.StringSliceVar(&o.only, "only", nil, "run these checks alone: `names` with commas between them")
	cli.Words(flags, "only", checkNames()...)
	flags.BoolVar(&o.strict, "strict", false, "exit with 1 if there is a warning")
	o.replicas = -1
	flags.Func("replicas", "how many replicas each primary is configured to have (default: those of which the servers know)", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 16)
		o.replicas = int(n)
		return err
	})
	cli.Time(flags, &o.ttl, "ttl", 10*time.Second, "the shortest ttl of your locks, for what the clocks may differ by")
	flags.IntVar(&o.keys, "most-keys", 100_000, "how many keys of each server to look at, at most; 0: all")
	cli.Time(flags, &o.watch, "watch", 2*time.Second, "how long to watch lines whose keys are held by tokens of others")
	return func(ctx context.Context, to cli.Streams, args []string) (err error) {
		switch {
		case o.ttl <= 0:
			return cli.Usagef("--ttl %s: a ttl is greater than 0", o.ttl)
		case o.watch < 0:
			return cli.Usagef("--watch %s: it is 0 or more", o.watch)
		case o.keys < 0:
			return cli.Usagef("--most-keys %d: it is 0 or more", o.keys)
		}
		if o.pattern, err = cli.OnePattern(args); err != nil {
			return err
		}
		todo, err := chosen(o.only)
		if err != nil {
			return err
		}
		return o.visit(ctx, to, todo)
	}
}

// visit runs the checks, one after the other, and shows each as soon as it is done.
func (o options) visit(ctx context.Context, to cli.Streams, todo []Check) error {
	conn, err := o.redis.Open(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing was done that could be lost
	p, err := newPatient(ctx, conn, o, cli.NewScreen(to.Err))
	if err != nil {
		return err
	}
	defer p.close()
	r := newReport(to.Out, *o.asJSON, len(p.nodes) > 1)
	if err := r.add(p.absent(todo)); err != nil {
		return err
	}
	for _, c := range todo {
		p.screen.Flash("%s …", c.name)
		found := c.examine(ctx, p)
		p.screen.Settle()
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := r.add(found); err != nil {
			return err
		}
	}
	if err := r.end(len(todo), conn.Name); err != nil {
		return err
	}
	if r.counts[Fault] > 0 || o.strict && r.counts[Warning] > 0 {
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}

// absent are the servers that cannot be reached, if nobody has asked for the check that tells them: the others know nothing of them.
func (p *patient) absent(todo []Check) []Finding {
	if slices.ContainsFunc(todo, func(c Check) bool { return c.name == "server" }) {
		return nil
	}
	var found []Finding
	for _, n := range p.nodes {
		if n.err != nil {
			found = append(found, p.serverIs(context.Background(), n).on(n))
		}
	}
	return merge("server", found)
}
