package redislockgocron_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

// A failing Client elects nobody, or for no time at all, and counts how often it is asked first, before the candidate stands in line.
type failing struct {
	over  *redislock.Lock
	asked int
	err   error
}

func (c *failing) With(ctx context.Context, _ []string, _ time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !opt.Queue {
		c.asked++
	}
	if c.err != nil {
		return c.err
	}
	return fn(c.over.Context(ctx))
}

// A candidacy that has ended by an error begins anew after the TTL, or 10 s if that is longer; one that has ended without one
// after 10 ms.
func TestElectorPauses(t *testing.T) {
	t.Parallel()
	none := errors.New("no right")
	for name, test := range map[string]struct {
		ttl   time.Duration
		err   error
		pause time.Duration
	}{
		"a short lease":    {4 * time.Second, none, 4 * time.Second},
		"a long one":       {time.Minute, none, 10 * time.Second},
		"without an error": {time.Minute, nil, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inPlant(t, func(t *testing.T, p *plant) {
				over := p.client(t).Attach([]string{"leader"}, "somebody")
				check.Is(t, over.Release(t.Context()), redislock.ErrLockNotHeld)
				client := &failing{over: over, err: test.err}
				e := check.Must[*redislockgocron.Elector](t)(redislockgocron.NewElector(election.Candidate{
					Client: client, Key: "leader", TTL: test.ttl, Logger: slog.New(slog.DiscardHandler),
				}))
				defer e.Close()
				pass(10*test.pause + test.pause/2)
				if client.asked != 11 {
					t.Errorf("asked %d times, want every %v", client.asked, test.pause)
				}
			})
		})
	}
}
