package work

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A candidacy is one Run of a candidate.
type candidacy struct {
	*caller
	ctx   context.Context // of the Run
	key   string
	name  string
	stand int // the op of the Obtain for which it stands in line
}

// elected stands for election, leads for a while, and resigns.
func elected(ctx context.Context, c *caller) {
	ctx, over := brief(ctx, random.Between(c.rng, ShortLease, WaitLimit))
	defer over()
	run := &candidacy{caller: c, ctx: ctx, key: c.Keys[c.rng.IntN(2)]}
	run.stands()
	run.name = "election-" + strconv.Itoa(run.stand)
	candidate := election.Candidate{
		Client: c.clients[0], Key: run.key, TTL: c.lease(), Name: run.name,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Lost: func(_ context.Context, err error) {
			if !errors.Is(err, redislock.ErrLockLost) {
				run.complain("a candidate was told of a loss by an error that is none: %v", err)
			}
			if run.ctx.Err() == nil {
				run.stands()
			}
		},
	}
	if c.quorum != nil {
		candidate.Client = c.quorum
	}
	err := candidate.Run(ctx, run.lead)
	if run.stand != 0 && errors.Is(err, errWork) { // it ended before it could stand once more
		err = context.Cause(ctx)
	}
	if run.stand != 0 {
		run.answered(err)
	} else if !errors.Is(err, errWork) {
		c.complain("Run has not returned the error of its function, but %v", err)
	}
	if random.Chance(c.rng, 20) {
		run.asksWho()
	}
}

// stands writes down that the candidate wants to be elected.
func (r *candidacy) stands() {
	r.stand = r.call(history.Event{
		Action: history.Obtain, Package: history.Election, Write: []string{r.key}, Way: history.Queue, Wait: WaitLimit, Fenced: true,
	})
}

// answered writes down what has become of that.
func (r *candidacy) answered(err error) {
	e := history.Event{Kind: history.Return, Op: r.stand, Client: r.number, Action: history.Obtain, Package: history.Election}
	describe(r.ctx, &e, err)
	r.out.Add(e)
	r.stand = 0
}

// lead is what the candidate does when it is elected.
func (r *candidacy) lead(ctx context.Context) error {
	lock := held.FromContext(ctx)
	h := &hold{caller: r.caller, pkg: history.Election, write: []string{r.key}, renews: true, told: byWith, lock: lock}
	h.deadline = lock.Deadline()
	r.answered(nil)
	e := history.Event{Action: history.Lead, Package: history.Election, Write: h.write, Until: until(h.deadline), Fenced: true}
	e.Watched, e.Renewed, e.Fence = true, true, lock.(held.Fenced).Fence()
	h.op = r.call(e)
	h.events = r.name
	r.holds.add(h)
	h.hear(ctx)
	h.enters()
	h.workLong(ctx)
	h.enters()
	h.mu.Lock()
	h.quiet++
	h.mu.Unlock()
	e = history.Event{Kind: history.Return, Op: h.op, Action: history.Lead, Until: until(lock.Deadline()), Fence: e.Fence}
	e.Watched, e.Renewed = true, true
	var err error
	if errors.Is(context.Cause(ctx), redislock.ErrLockLost) {
		err, e.Until = context.Cause(ctx), 0
	}
	describe(ctx, &e, err)
	h.add(e)
	h.end()
	return errWork
}

// asksWho asks who leads.
func (r *candidacy) asksWho() {
	ctx, over := r.ending()
	defer over()
	_ = r.ask(ctx, history.Event{Action: history.Inspect, Package: history.Election, Write: []string{r.key}}, func() error {
		_, err := election.Leader(ctx, r.key, r.clients...)
		return err
	})
}
