package demo

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/turns"
)

const (
	contenders = 8
	holdTime   = 3 * time.Millisecond
	thinkTime  = 5 * time.Millisecond
)

// A policy is one way to wait.
type policy struct {
	name    string
	options redislock.Options
}

// policies are compared with each other; the first asks most often, the last stands in line.
var policies = []policy{
	polling("linear 2 ms", redislock.LinearBackoff(2*time.Millisecond)),
	polling("linear 25 ms", redislock.LinearBackoff(25*time.Millisecond)),
	polling("exponential 2-50 ms", redislock.ExponentialBackoff(2*time.Millisecond, 50*time.Millisecond)),
	polling("the same, 4 retries", redislock.LimitRetry(redislock.ExponentialBackoff(2*time.Millisecond, 50*time.Millisecond), 4)),
	{"queue", redislock.Options{Queue: true}},
}

func polling(name string, strategy redislock.RetryStrategy) policy {
	return policy{name, redislock.Options{RetryStrategy: strategy}}
}

// A contest is one policy, tried by several workers at once.
type contest struct {
	*stage
	policy
	key    string
	length time.Duration
	up     context.Context // ends when time is up

	inside   atomic.Int64 // who hold the lock now
	overlaps atomic.Int64 // how often somebody came in and was not alone
	total    atomic.Int64 // acquisitions so far
	commands int64        // that the locks sent
	workers  []turns.Caller
	had      []turns.Had // by each worker, in the end
}

// playBackoff tries each policy and puts the results side by side.
func playBackoff(ctx context.Context, s *stage) (verdict, error) {
	sent := measure.Scripts(s.server.RDB)
	s.note("%-20s %12s %9s %9s %13s %9s %8s", "", "acquisitions", "wait p50", "p99", "commands each", "fairness", "gave up")
	var played []*contest
	for _, p := range policies {
		c := &contest{
			stage: s, policy: p, key: s.key("hot"),
			length: s.span(800 * time.Millisecond), workers: make([]turns.Caller, contenders),
		}
		before := sent.Load()
		if err := c.play(ctx); err != nil {
			return verdict{}, err
		}
		c.commands = sent.Load() - before
		s.note("%s", c.row())
		played = append(played, c)
	}
	s.note("%s", s.screen.Paint(cli.Dim,
		"Commands are the EVALSHA that a go-redis hook saw, Release included; fairness is Jain's index."))
	return judgePolicies(played), nil
}

// enough is how often each policy has to have had the lock for what it sends to say something.
const enough = 50

// judgePolicies checks the lock, and that patience is cheaper than haste.
func judgePolicies(played []*contest) verdict {
	var v verdict
	var overlaps, least int64 = 0, played[0].total.Load()
	for _, c := range played {
		overlaps += c.overlaps.Load()
		least = min(least, c.total.Load())
	}
	v.check(overlaps == 0, "never two holders", count.Of(overlaps, "time")+" two holders at once")
	v.check(least > 0, "every policy works", "a policy did not acquire the lock at all")
	hasty, patient, queue := played[0], played[2], played[len(played)-1]
	if least < enough {
		v.check(true, "too few turns on this machine to compare policies", "")
	} else {
		v.check(patient.each() < hasty.each(),
			fmt.Sprintf("%s sends %.1f times as much as %s", hasty.name, hasty.each()/patient.each(), patient.name),
			fmt.Sprintf("%s sends no more than %s", hasty.name, patient.name))
	}
	v.check(queue.frugal() && queue.even(),
		fmt.Sprintf("in line it takes %.1f commands, and everybody has the same share", queue.each()),
		fmt.Sprintf("in line it takes %.1f commands, and fairness is %.2f", queue.each(), queue.fairness()))
	return v
}

// slowest is how long a policy may take for its first turn.
const slowest = 10 * time.Second

// play runs the workers until time is up, and somebody has had a turn: on a machine that is busy with
// other things that may take longer.
func (c *contest) play(ctx context.Context) error {
	began := time.Now()
	up, stop := context.WithCancel(ctx)
	defer stop()
	c.up = up
	over := make(chan error, 1)
	go func() { over <- together(ctx, contenders, c.work) }()
	for {
		pause := cli.FramePause
		if left := c.length - time.Since(began); left > 0 {
			pause = min(pause, left)
		}
		select {
		case err := <-over:
			c.length = time.Since(began)
			for i := range c.workers {
				c.had = append(c.had, c.workers[i].Read())
			}
			return err
		case <-time.After(pause):
		}
		if spent := time.Since(began); spent >= c.length && (c.total.Load() > 0 || spent > slowest) {
			stop()
		}
		c.screen.Flash("%-20s %12d", c.name, c.total.Load())
	}
}

// work obtains, holds, releases and pauses in turn. An Obtain that time cuts short counts for its
// wait so far, and not for its outcome.
func (c *contest) work(ctx context.Context, i int) error {
	mine := &c.workers[i]
	mine.Refusal = redislock.ErrNotObtained
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.up, cancel)()
	for short.Err() == nil {
		if err := turns.Try(short, mine, c.acquire, func(release release) error { return c.hold(ctx, release) }); err != nil {
			return err
		}
		_ = sleep(short, thinkTime) // the loop sees that it has ended
	}
	return context.Cause(ctx)
}

// A release gives back a lock.
type release = func(context.Context) error

// acquire obtains the lock and returns what releases it.
func (c *contest) acquire(ctx context.Context) (release, error) {
	if c.broken {
		return func(context.Context) error { return nil }, nil
	}
	lock, err := c.client.Obtain(ctx, []string{c.key}, 5*time.Second, &c.options)
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

// hold is the work that nobody else may do at the same time.
func (c *contest) hold(ctx context.Context, release release) error {
	if c.inside.Add(1) != 1 {
		c.overlaps.Add(1)
	}
	c.total.Add(1)
	paused := sleep(ctx, holdTime)
	c.inside.Add(-1)
	if err := release(ctx); err != nil {
		return err
	}
	return paused
}

// each is how many commands one acquisition took.
func (c *contest) each() float64 { return float64(c.commands) / float64(max(c.total.Load(), 1)) }

// frugal reports whether an acquisition took less than three commands, but for those with which each
// worker begins and ends: on a slow machine there are few others.
func (c *contest) frugal() bool { return c.commands < 3*c.total.Load()+6*int64(len(c.workers)) }

// even reports whether everybody had the same share, but for who was about to be served, or came back
// into the line later than others did, as happens on a busy machine.
func (c *contest) even() bool {
	acquired := c.acquired()
	least, most := slices.Min(acquired), slices.Max(acquired)
	return most-least <= 2 || c.fairness() > 0.8
}

// row is the contest as a line of the table.
func (c *contest) row() string {
	var waits turns.Waits
	gaveUp := 0 // the policy ended before there was a lock
	for _, had := range c.had {
		waits.Join(had.Waits)
		gaveUp += had.Refused
	}
	half, _ := waits.Quantile(0.50)
	long, _ := waits.Quantile(0.99)
	perSecond := float64(c.total.Load()) / c.length.Seconds()
	return fmt.Sprintf("%-20s %10.0f/s %9s %9s %13.1f %9.2f %8d", c.name, perSecond,
		cli.Duration(half), cli.Duration(long), c.each(), c.fairness(), gaveUp)
}

func (c *contest) fairness() float64 { return measure.Fairness(c.acquired()) }

// acquired is how often each worker had the lock.
func (c *contest) acquired() (times []int) {
	for _, had := range c.had {
		times = append(times, had.Turns)
	}
	return times
}
