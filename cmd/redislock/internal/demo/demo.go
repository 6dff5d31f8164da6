// Package demo is the command that shows the library at work.
package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// An act shows one thing that the library does.
type act struct {
	name  string // to choose it by on the command line
	title string
	about string // what is being shown
	play  func(context.Context, *stage) (verdict, error)
}

// acts are played in this order.
var acts = []act{
	{
		"money", "Money that only a lock protects",
		"16 workers move money between 8 accounts: read, pause, write, under a lock on both keys.", playMoney,
	},
	{
		"conflict", "What a refused caller is told",
		"A lock on two keys; somebody else wants one of them, together with a third.", playConflict,
	},
	{
		"readers", "Readers share, a writer waits",
		"Three readers share a key, a writer waits until all of them have gone.", playReaders,
	},
	{
		"watchdog", "A lease that renews itself, and its loss",
		"The watchdog keeps a short lease alive; then the key is deleted behind the holder's back.", playWatchdog,
	},
	{
		"backoff", "What waiting costs",
		"8 workers want one key, hold it for 3 ms, and pause for 5 ms before they want it again.", playBackoff,
	},
}

// Command is redislock demo.
func Command() cli.Command {
	return cli.Command{
		Name:    "demo",
		Args:    "[flags] [act ...]",
		Summary: "show the library at work, in acts: " + strings.Join(actNames(), ", "),
		Help: `Each act ends with a verdict, which is worked out from what was seen.
With --redis the demo uses keys of its own on that server, and leaves none of
them behind.

--json writes an object for each act, and nothing else: act, ok (whether it went
as promised), found (what the verdict says) and took_ms.`,
		Examples: []cli.Example{
			{Line: "redislock demo", About: "play all acts, in less than ten seconds, on a server inside the program"},
			{Line: "redislock demo --redis redis://localhost:6379 backoff", About: "compare back-off policies on your server"},
		},
		Values: actNames(),
		Define: define,
	}
}

// A demo is the command that plays the acts.
type demo struct {
	redis cli.Redis
	json  *bool
	pace  float64       // by which the length of the timed acts is multiplied
	lease time.Duration // that the watchdog keeps alive
	// broken leaves out what an act is about, for tests: the locks of money, the holder of conflict, the write lock of
	// readers, the renewals of watchdog, the line of backoff. Then its verdict has to be bad.
	broken bool
}

// define declares the flags of the demo.
func define(flags *pflag.FlagSet) cli.Action {
	d := demo{pace: 1, lease: 300 * time.Millisecond}
	d.redis.DefineURL(flags, "a server inside the program")
	d.json = cli.JSONFlag(flags)
	return d.run
}

// run plays the acts that were asked for, or all of them.
func (d *demo) run(ctx context.Context, to cli.Streams, names []string) (err error) {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	srv, err := d.redis.OpenOrEmbed(ctx)
	if err != nil {
		return err
	}
	shown, objects := to.Out, io.Discard
	if *d.json {
		shown, objects = objects, shown
	}
	s := newStage(d, srv, cli.NewScreen(shown))
	defer func() {
		if failed := s.clear(); err == nil {
			err = failed
		}
	}()
	return playAll(ctx, s, chosen, objects)
}

// choose finds the acts by their names; without names it is all of them.
func choose(names []string) (chosen []act, err error) {
	if len(names) == 0 {
		return acts, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(acts, func(a act) bool { return a.name == name })
		if i < 0 {
			return nil, cli.Usagef("unknown act %q", name)
		}
		chosen = append(chosen, acts[i])
	}
	return chosen, nil
}

// actNames lists the acts.
func actNames() []string {
	var names []string
	for _, a := range acts {
		names = append(names, a.name)
	}
	return names
}

// next is what somebody may want to do who has seen the acts.
const next = `
What else there is, each with -h:
   redislock run       a command under a lock, as in a crontab
   redislock ls        who holds what on your server, and since when
   redislock tree      who waits for whom, and whether that ends
   redislock watch     the same live, with hand-offs and the longest wait
   redislock tune      which way of waiting suits your load
   redislock doctor    what of your server would break a lock`

// An outcome is that of one act, as JSON.
type outcome struct {
	Act   string   `json:"act"`
	OK    bool     `json:"ok"`
	Found []string `json:"found"`
	Took  int64    `json:"took_ms"`
}

// playAll plays the acts one after the other, and writes the objects of their outcomes. It returns an error if one could not be
// played to its end, or a verdict is not as promised.
func playAll(ctx context.Context, s *stage, chosen []act, objects io.Writer) error {
	began := time.Now()
	s.screen.Line("redislock demo, on %s", s.server.Name)
	failed := 0
	for i, a := range chosen {
		s.screen.Line("\n%s\n   %s", s.screen.Paint(cli.Bold, fmt.Sprintf("%d. %s", i+1, a.title)), s.screen.Paint(cli.Dim, a.about))
		started := time.Now()
		v, err := a.play(ctx, s)
		if err != nil {
			s.screen.Settle()
			return fmt.Errorf("%s: %w", a.name, err)
		}
		sign := s.screen.Paint(cli.Green, "✓")
		if !v.ok() {
			failed++
			sign = s.screen.Paint(cli.Red, "✗")
		}
		s.note("%s %s", sign, v.String())
		if err := cli.WriteJSON(objects, outcome{a.name, v.ok(), v.found(), time.Since(started).Milliseconds()}); err != nil {
			return err
		}
	}
	s.screen.Line("\n%d of %s as promised, in %s",
		len(chosen)-failed, count.Of(len(chosen), "act"), cli.Duration(time.Since(began)))
	s.screen.Line("%s", next)
	if failed > 0 {
		return fmt.Errorf("%d of %s not as promised", failed, count.Of(len(chosen), "act"))
	}
	return nil
}
