package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
)

// A policy is one way to wait, and what came of it.
type policy struct {
	name    string
	options redislock.Options
	measure.Part
}

// playBackoff tries several policies and puts the results side by side: the first asks most often, the last stands in line.
func playBackoff(ctx context.Context, s *stage) (verdict, error) {
	policies := []policy{
		{name: "linear 2 ms", options: redislock.Options{RetryStrategy: redislock.LinearBackoff(2 * time.Millisecond)}},
		{name: "exponential 2-50 ms", options: redislock.Options{RetryStrategy: redislock.ExponentialBackoff(2*time.Millisecond, 50*time.Millisecond)}},
		{name: "queue", options: redislock.Options{Queue: !s.broken}},
	}
	player := measure.NewPlayer(s.server.RDB, measure.Load{
		Names: []string{s.key("hot")}, Keys: 1, TTL: 5 * time.Second,
		Workers: 8, Holds: []time.Duration{3 * time.Millisecond}, Think: 5 * time.Millisecond,
	})
	s.note("%-20s %12s %9s %9s %13s %9s", "", "acquisitions", "wait p50", "p99", "commands each", "fairness")
	for i := range policies {
		p := &policies[i]
		if err := s.contest(ctx, player, p); err != nil {
			return verdict{}, err
		}
		half, _ := p.Waits.Quantile(0.50)
		long, _ := p.Waits.Quantile(0.99)
		s.note("%-20s %10.0f/s %9s %9s %13.1f %9.2f", p.name, p.PerSecond(),
			cli.Duration(half), cli.Duration(long), p.CommandsEach(), p.Fairness())
	}
	s.note("%s", s.screen.Paint(cli.Dim,
		"Commands are the EVALSHA that a go-redis hook saw, Release included; fairness is Jain's index."))
	return judgePolicies(policies[0], policies[1], policies[2]), nil
}

// slowest is how long a policy may take for its first turn.
const slowest = 10 * time.Second

// contest has a policy play for its time, and until somebody has had a turn: on a machine that is busy with other things that may
// take longer.
func (s *stage) contest(ctx context.Context, player *measure.Player, p *policy) error {
	began, before := time.Now(), player.Had.Load()
	over := make(chan error, 1)
	go func() {
		for {
			seen, err := player.Play(ctx, s.client, &p.options, measure.Slice{Length: s.span(800 * time.Millisecond)})
			p.Add(seen)
			if err != nil || p.Total() > 0 || time.Since(began) > slowest {
				over <- err
				return
			}
		}
	}()
	for {
		select {
		case err := <-over:
			return err
		case <-time.After(cli.FramePause):
			s.screen.Flash("%-20s %12d", p.name, player.Had.Load()-before)
		}
	}
}

// enough is how often each policy has to have had the lock for what it sends to say something.
const enough = 50

// judgePolicies checks that patience is cheaper than haste.
func judgePolicies(hasty, patient, queue policy) verdict {
	var v verdict
	least := min(hasty.Total(), patient.Total(), queue.Total())
	v.check(least > 0, "every policy works", "a policy did not acquire the lock at all")
	if least < enough {
		v.check(true, "too few turns on this machine to compare policies", "")
	} else {
		v.check(patient.CommandsEach() < hasty.CommandsEach(),
			fmt.Sprintf("%s sends %.1f times as much as %s", hasty.name, hasty.CommandsEach()/patient.CommandsEach(), patient.name),
			fmt.Sprintf("%s sends no more than %s", hasty.name, patient.name))
	}
	v.check(queue.isFrugal() && queue.isEven() && queue.Refused == 0,
		fmt.Sprintf("in line it takes %.1f commands, and everybody has the same share", queue.CommandsEach()),
		fmt.Sprintf("in line it takes %.1f commands, %d gave up, and fairness is %.2f", queue.CommandsEach(), queue.Refused, queue.Fairness()))
	return v
}

// isFrugal reports whether an acquisition took less than three commands, but for those with which each worker begins and ends:
// on a slow machine there are few others.
func (p *policy) isFrugal() bool { return p.Commands < int64(3*p.Total()+6*len(p.Turns)) }

// isEven reports whether everybody had the same share, but for who was about to be served, or came back into the line later than
// others did, as happens on a busy machine.
func (p *policy) isEven() bool {
	return slices.Max(p.Turns)-slices.Min(p.Turns) <= 2 || p.Fairness() > 0.8
}
