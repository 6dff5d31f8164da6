package free

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// Wait is redislock wait.
func Wait() cli.Command {
	return cli.Command{
		Name:    "wait",
		Args:    "[flags] KEY...",
		Summary: "wait until keys are free",
		Help: `
It returns when nobody holds any of the keys. It takes no lock, and stands in no
line: somebody else may have a key a moment later, and who waits for it already
does. To do something under the lock use "redislock run".

All keys are free at one moment; on a Cluster those of each slot are, and all
slots within one round of requests. It asks again after 20 ms, and less and less
often up to once a second; so a key that is free for a moment between two
holders can be missed. If Redis does not answer for a while it goes on.

The exit status is 0 if the keys are free, 65 if a key holds something that is
no lock, 69 if Redis cannot be reached at the beginning or at the end, 75 if the
keys were not free in time.`,
		Examples: []cli.Example{
			{Line: `redislock wait --wait 1m orders:17`, About: "return when nobody holds the key, or after a minute"},
			{Line: `redislock wait -q nightly && ./report`, About: "wait for another job to end, however long it takes"},
		},
		Define: defineWait,
		Keys:   true,
	}
}

func defineWait(flags *pflag.FlagSet) cli.Action {
	var w waiting
	w.server.Define(flags)
	cli.Seconds(flags, &w.timeout, "wait", "w", "give up after this `time`, or so many seconds (default no limit)")
	w.json = cli.JSONFlag(flags)
	flags.BoolVarP(&w.quiet, "quiet", "q", false, "say nothing while it waits")
	return w.run
}

// A waiting is one run of redislock wait.
type waiting struct {
	server  cli.Redis
	timeout time.Duration
	quiet   bool
	json    *bool

	to     cli.Streams
	conn   *cli.Conn
	client *redislock.Client
	parts  [][]string // of the keys: those that one command can look at
	told   bool       // for whom it waits
	lost   error      // why the latest look was not answered; nil if it was
}

func (w *waiting) run(ctx context.Context, to cli.Streams, args []string) error {
	keys, err := cli.Keys(args)
	if err != nil {
		return err
	}
	if w.timeout < 0 {
		return cli.Usagef("--wait is %s; it may not be negative", w.timeout)
	}
	w.to = to
	began := time.Now()
	if w.conn, err = w.server.Open(ctx); err != nil {
		return err
	}
	defer func() { _ = w.conn.Close() }() // it has only read
	w.client = w.conn.Client()
	w.parts = partsOf(w.conn, keys)
	limited := ctx
	if w.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, began.Add(w.timeout))
		defer cancel()
	}
	err = w.untilFree(limited)
	if err != nil && limited.Err() != nil {
		err = w.lookAgain(ctx)
	}
	if err == nil && w.told {
		w.say("free after %s", cli.Duration(time.Since(began)))
	}
	late, ok := errors.AsType[*cli.StatusError](err)
	if !*w.json || err != nil && (!ok || late.Status != cli.NotObtained) {
		return err
	}
	return errors.Join(err, cli.WriteJSON(to.Out, struct {
		Keys   []cli.KeyName `json:"keys"`
		Free   bool          `json:"free"`
		Waited int64         `json:"waited_ms"`
	}{cli.NamesOf(keys), err == nil, time.Since(began).Milliseconds()}))
}

// untilFree looks until the keys are free.
func (w *waiting) untilFree(ctx context.Context) error {
	var pauses pacer
	for {
		states, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !passes(err):
			return err
		}
		w.note(states, err)
		if err == nil && states == nil {
			return nil
		}
		if !pace.Sleep(ctx, pauses.next(states)) {
			return context.Cause(ctx)
		}
	}
}

// passes reports whether an error may be gone at the next look.
func passes(err error) bool {
	_, said := errors.AsType[*cli.StatusError](err)
	return !said && wire.Classify(err) != wire.Final
}

// note says for whom it waits, once; and that Redis does not answer, or answers again.
func (w *waiting) note(states []redislock.KeyState, err error) {
	if states != nil && !w.told {
		w.told = true
		w.say("%s", blocked(states))
	}
	switch {
	case err != nil && w.lost == nil:
		w.say("no answer from %s, trying again: %v", w.conn.Name, err)
	case err == nil && w.lost != nil:
		w.say("%s answers again", w.conn.Name)
	}
	w.lost = err
}

func (w *waiting) say(format string, args ...any) {
	if !w.quiet {
		cli.Say(w.to.Err, "redislock wait: "+format+"\n", args...)
	}
}

// lookAgain looks once more when the time is over. The error is who holds the keys now, or that nobody answers; nil if they are
// free.
func (w *waiting) lookAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cli.Reachable, fmt.Errorf("nothing within %s", cli.Reachable))
	defer cancel()
	states, err := w.look(ctx)
	switch {
	case err != nil && (ctx.Err() != nil || passes(err)):
		return cli.Exit(cli.Unavailable, fmt.Errorf("no answer from %s at the end of %s: %w", w.conn.Name, w.timeout, err))
	case err != nil || states == nil:
		return err
	}
	return cli.Exit(cli.NotObtained, fmt.Errorf("not free within %s: %s", w.timeout, blocked(states)))
}

// blocked says which key is held by whom.
func blocked(states []redislock.KeyState) string {
	held := slices.DeleteFunc(slices.Clone(states), func(s redislock.KeyState) bool { return !isHeld(s) })
	if len(held) == 0 {
		return "the keys are not free at one moment"
	}
	text := fmt.Sprintf("%s is %s", cli.Text(held[0].Key), who(held[0]))
	if more := len(held) - 1; more > 0 {
		text += ", and " + count.Of(more, "more key")
	}
	return text
}

// isHeld reports whether somebody holds a key.
func isHeld(s redislock.KeyState) bool {
	return s.Mode == redislock.ModeWrite || s.Mode == redislock.ModeRead
}
