// Package tune is the command that compares ways to wait.
//
// The command itself looks after everything and plays nothing: load.go and policy.go say what is played, players.go starts
// the processes that play it (player.go), slice by slice, and server.go looks at the server before and after. rank.go compares
// what was seen, advice.go, table.go and picture.go say it.
package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
	"github.com/seed-14de3678/redislock/internal/count"
)

// Command is redislock tune.
func Command() cli.Command {
	return cli.Command{
		Name:    "tune",
		Args:    "[flags]",
		Summary: "compare ways to wait under your own load, and say which one to take",
		Help: `Workers obtain locks, hold them, and release them, with one policy after the
other in many short slices. Without --redis that happens on a server inside the
program, which compares policies, not servers.

` + policyHelp + `

Compared are linear, exponential and limited with waits that suit the hold time,
queue, and those of --policy.`,
		Examples: []cli.Example{
			{Line: "redislock tune --hold 20ms --keys 3 --workers 64", About: "say which way of waiting suits this load"},
			{Line: "redislock tune --holds times.txt --of 100 --readers 0.9 --processes 4 --redis redis://localhost:6379 --for 1m", About: "a load as it was measured, on your server"},
			{Line: "redislock tune --hold 5ms --policy mine=exponential:2ms..80ms --policy yours=linear:10ms --no-defaults --plot out.svg", About: "compare two policies, and draw a picture"},
		},
		Define: define,
	}
}

// A tune is one run of the command.
type tune struct {
	redis     cli.Redis
	load      measure.Load
	of        int // how many keys there are
	processes int
	wait      time.Duration // how long an Obtain may wait; 0: as long as it likes
	hold      time.Duration
	holds     string // a file
	pattern   string
	policies  []policy
	only      bool
	total     time.Duration
	picture   string
	json      *bool

	plan plan
}

// define declares the flags.
func define(flags *pflag.FlagSet) cli.Action {
	t := &tune{}
	t.redis.DefineURL(flags, "a server inside the program")
	t.redis.DefinePrefix(flags)
	cli.Time(flags, &t.hold, "hold", 0, "how long a lock is held (default 20ms)")
	flags.StringVar(&t.holds, "holds", "", "a `file` of hold times, one in a line, of which one is taken at random each time")
	flags.IntVar(&t.load.Keys, "keys", 1, "how many keys a lock has")
	flags.IntVar(&t.of, "of", 0, "how many keys there are, of which those of a lock are taken at random (default: ten times --keys)")
	flags.IntVar(&t.load.Workers, "workers", 16, "how many want locks at the same time, in all processes together")
	flags.IntVar(&t.processes, "processes", 1, "in how many processes the workers are: each has a Client of its own")
	flags.Float64Var(&t.load.Readers, "readers", 0, "the share of locks that only read, from 0 to 1")
	cli.Time(flags, &t.load.Think, "think", 0, "how long a worker pauses from one lock to the next")
	cli.Time(flags, &t.wait, "wait", 0, "how long an Obtain waits at most (Options.Wait); 0: as long as its policy does")
	flags.StringVar(&t.pattern, "pattern", "", "the names of the keys, such as orders:%d; nobody else may use them (default: names of its own)")
	flags.Func("policy", "a `policy` to compare, such as mine=linear:25ms; may be repeated", func(text string) error {
		p, err := parsePolicy(text)
		t.policies = append(t.policies, p)
		return err
	})
	flags.BoolVar(&t.only, "no-defaults", false, "compare nothing but the policies of --policy")
	cli.Time(flags, &t.total, "for", 0, "how long all policies play together (default 10s, or longer if the load needs that)")
	flags.StringVar(&t.picture, "plot", "", "draw a picture into this `file`, as SVG")
	t.json = cli.JSONFlag(flags)
	return t.run
}

// prepare checks what was asked for. Nothing has been sent to Redis yet.
func (t *tune) prepare(args []string) (err error) {
	if err := cli.NoArguments(args); err != nil {
		return err
	}
	if err := t.prepareHolds(); err != nil {
		return err
	}
	t.of = cmp.Or(t.of, min(10*t.load.Keys, mostOf))
	if err := t.checkLoad(); err != nil {
		return err
	}
	if t.pattern != "" {
		if _, err := namesOf(t.pattern, 1); err != nil {
			return err
		}
	}
	if err := t.preparePolicies(); err != nil {
		return err
	}
	if t.plan, err = planFor(t.total, len(t.policies), rotation(&t.load, t.of)); err != nil {
		return err
	}
	t.load.TTL = max(15*time.Second, 2*t.plan.Slice) // nothing is lost unless a process stands still
	if t.picture != "" {
		return checkPicture(t.picture, len(t.policies))
	}
	return nil
}

func (t *tune) prepareHolds() (err error) {
	switch {
	case t.holds != "" && t.hold != 0:
		return cli.Usagef("--hold and --holds both say how long a lock is held: give one of them")
	case t.holds != "":
		t.load.Holds, err = readHolds(t.holds)
		return err
	case t.hold == 0:
		t.hold = 20 * time.Millisecond
	}
	if err := checkHold(t.hold); err != nil {
		return cli.Usagef("--hold: %v", err)
	}
	t.load.Holds = []time.Duration{t.hold}
	return nil
}

// mostPolicies is how many can be compared.
const mostPolicies = 20

func (t *tune) preparePolicies() (err error) {
	if !t.only {
		t.policies = append(standard(t.load.Mean()), t.policies...)
	}
	if n := len(t.policies); n < 2 || n > mostPolicies {
		return cli.Usagef("there are from 2 to %d policies to compare, not %d", mostPolicies, n)
	}
	t.policies, err = named(t.policies)
	return err
}

// run is the whole command.
func (t *tune) run(ctx context.Context, to cli.Streams, args []string) (err error) {
	if err := t.prepare(args); err != nil {
		return err
	}
	conn, err := t.redis.OpenOrEmbed(ctx)
	if err != nil {
		return err
	}
	conn.Prefix = t.redis.Prefix
	defer conn.Close() //nolint:errcheck // what matters was said before
	srv, err := t.server(conn)
	if err != nil {
		return err
	}
	if err := srv.unused(ctx); err != nil {
		return err
	}
	if err := srv.takesLocks(ctx, t.load.Keys, t.load.TTL); err != nil {
		return err
	}
	screen := cli.NewScreen(to.Err)
	out := to.Out
	if *t.json {
		out = to.Err
	}
	if _, err := io.WriteString(out, t.introduction(srv)); err != nil {
		return err
	}
	seen, err := t.compete(ctx, srv, screen)
	screen.Settle()
	if cleared := srv.clear(t.load.TTL); err == nil {
		err = cleared
	}
	if err == nil && !slices.ContainsFunc(seen.results, func(r result) bool { return r.all.Total() > 0 }) {
		err = errors.New("no policy has had a lock: the server has changed meanwhile")
	}
	if err != nil {
		return err
	}
	return t.report(to, srv, seen)
}

// server names the keys.
func (t *tune) server(conn *cli.Conn) (srv *server, err error) {
	own := cli.OwnPrefix("tune")
	if t.pattern == "" {
		t.pattern = own + "%d"
		if _, ok := conn.RDB.(*redis.ClusterClient); ok && t.load.Keys > 1 {
			t.pattern = own + "{all}:%d"
		}
	}
	srv = &server{Conn: conn, mark: strings.TrimSuffix(own, ":")}
	if srv.names, err = namesOf(t.pattern, t.of); err != nil {
		return nil, err
	}
	return srv, srv.fits(t.load.Keys)
}

// introduction says what is about to be done.
func (t *tune) introduction(srv *server) string {
	l := &t.load
	text := fmt.Sprintf("%s in %s, %d of %s a lock, held for %s on the average, %.0f %% readers:\n%d policies for %s together, %s each.\nOn %s",
		count.Of(l.Workers, "worker"), count.Either(t.processes, "process", "processes"), l.Keys, count.Of(t.of, "key"), cli.Duration(l.Mean()), 100*l.Readers,
		len(t.policies), cli.Duration(t.plan.total(len(t.policies))), count.Of(t.plan.Rounds, "slice"), srv.Name)
	if srv.IsMini {
		text += ": it compares policies, not servers. Name yours with --redis"
	}
	return text + ".\n\n"
}

// report says what was seen, and what follows.
func (t *tune) report(to cli.Streams, srv *server, seen contest) error {
	r := rank(seen.results, floorOf(&t.load))
	warnings := seen.warnings()
	diag := cli.NewScreen(to.Err)
	if *t.json {
		for _, a := range r.rows(srv.silent, srv.IsMini, len(warnings) > 0) {
			if err := cli.WriteJSON(to.Out, a); err != nil {
				return err
			}
		}
		for _, line := range warnings {
			diag.Line("%s", line)
		}
	} else if err := r.show(to, srv.silent, warnings); err != nil {
		return err
	}
	if t.picture == "" {
		return nil
	}
	drawing, err := r.picture()
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return os.WriteFile(t.picture, drawing, 0o644)
}

// widest is how long a line of the answer gets.
const widest = 100

// show writes tables, bars and sentences.
func (r *ranking) show(to cli.Streams, silent string, warnings []string) error {
	block := "#"
	if cli.UTF8() {
		block = "█"
	}
	drawn := charts
	if silent != "" {
		drawn = charts[:len(charts)-1]
	}
	paragraphs := [][]string{r.table(silent)}
	for _, c := range drawn {
		paragraphs = append(paragraphs, r.bars(c, block))
	}
	sentences := r.advice()
	if len(warnings) > 0 {
		sentences = append([]string{"So what follows is not certain."}, sentences...)
	}
	var b strings.Builder
	for _, lines := range append(paragraphs, legend(silent), warnings, sentences) {
		for _, line := range lines {
			b.WriteString(strings.Join(cli.Wrap(line, widest), "\n") + "\n")
		}
		if len(lines) > 0 {
			b.WriteString("\n")
		}
	}
	_, err := fmt.Fprint(to.Out, strings.TrimSuffix(b.String(), "\n"))
	return err
}
