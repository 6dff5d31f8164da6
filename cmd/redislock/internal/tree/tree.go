package tree

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
)

// Command is redislock tree.
func Command() cli.Command {
	return cli.Command{
		Name:    "tree",
		Args:    "[flags] [PATTERN]",
		Summary: "draw who waits for whom, and find deadlocks",
		Help: `Beneath whoever holds a key stand those who wait for it, and beneath these
those who wait for what they hold. Callers' ids tell who is who, else a token
under which somebody holds a key and waits for another, else metadata. A circle
of callers is a certain deadlock: nobody in it can go on until one of them gives
up or loses its lease. A circle of processes is a possible one.

PATTERN is a glob that the keys match, as of SCAN. A circle through other keys
is not found. Callers that poll without an intent leave nothing to be seen.

The exit status is 1 if there is a certain deadlock, and 0 if there is none.`,
		Examples: []cli.Example{
			{Line: `redislock tree`, About: "draw who waits for whom, with deadlocks"},
			{Line: `redislock tree --dot 'orders:*' | dot -Tsvg >locks.svg`, About: "draw a picture with Graphviz"},
			{Line: `redislock tree --html locks.html`, About: "write a page to send to a colleague"},
			{Line: `redislock tree --deadlocks --json`, About: "list the deadlocks alone, for a program"},
		},
		Define: define,
		Keys:   true,
	}
}

// options are the flags of the command.
type options struct {
	redis      cli.Redis
	json       *bool
	dot, ascii bool
	only       bool // the deadlocks
	most       int
	html       string
}

func define(flags *pflag.FlagSet) cli.Action {
	var o options
	o.redis.Define(flags)
	o.json = cli.JSONFlag(flags)
	flags.BoolVar(&o.dot, "dot", false, "write a graph for Graphviz, with deadlocks in red")
	flags.StringVar(&o.html, "html", "", "write a page of it into this `file`, to send to somebody; -: to standard output")
	flags.BoolVar(&o.ascii, "ascii", false, "draw without box characters, as where the locale is not UTF-8")
	flags.BoolVar(&o.only, "deadlocks", false, "show nothing but deadlocks")
	flags.IntVar(&o.most, "waiters", 10, "draw so many waiters of each line, and say how many more there are; 0: all")
	return o.run
}

func (o *options) check(args []string) (pattern string, err error) {
	isPage := o.html != ""
	switch {
	case o.dot && *o.json, o.dot && isPage, isPage && *o.json:
		return "", cli.Usagef("--dot, --html and --json exclude each other")
	case o.only && (o.dot || isPage):
		return "", cli.Usagef("--dot and --html draw who waits for whom, and --deadlocks does not")
	case o.most < 0:
		return "", cli.Usagef("--waiters is a number of waiters, or 0")
	}
	return cli.OnePattern(args)
}

func (o *options) run(ctx context.Context, to cli.Streams, args []string) error {
	pattern, err := o.check(args)
	if err != nil {
		return err
	}
	conn, err := o.redis.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var notes survey.Notes
	states, err := survey.All(ctx, conn, survey.Query{Pattern: pattern, Notes: &notes}, to.Err)
	notes.Tell(to.Err)
	if err != nil {
		return err
	}
	if len(states) > 0 && pattern == "" {
		cli.Say(to.Err, "%s", conn.Cut(states[0].Key))
	}
	v, err := newView(ctx, states, conn.Client().Inspect, newMarker(conn), settling)
	if err != nil {
		return err
	}
	// Waiters take their places by the server's clock. Where TIME is refused our own has to do.
	if v.now, err = conn.RDB.Time(ctx).Result(); err != nil {
		v.now = time.Now()
	}
	if err := o.write(to, v); err != nil {
		return err
	}
	if len(v.deadlocks) > 0 && v.deadlocks[0].Certain { // these come first
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}

func (o *options) write(to cli.Streams, v *view) error {
	switch {
	case *o.json:
		return v.writeJSON(to.Out, o.only)
	case o.dot:
		return v.writeDot(to.Out)
	case o.html != "":
		return writePage(o.html, to.Out, v.writeHTML)
	}
	p := &printer{
		view: v, names: namesOf(v.settled), screen: cli.NewScreen(to.Out), most: o.most, only: o.only, propose: o.redis.Propose,
	}
	if o.ascii || !cli.UTF8() {
		p.names.glyphs = plain
	}
	return p.print(to.Out)
}
