// Package election_test has the tests of elections: one leader at a time, who follows it, and what happens when leaders, their
// processes or their servers stop.
package election_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A runner is a Candidate whose Run is under way.
type runner struct {
	leads chan lead  // each time that it is elected
	lost  chan error // what Candidate.Lost is told
	ended chan error // what Run returns
	stop  context.CancelFunc
}

// A lead is one run of the function.
type lead struct {
	ctx    context.Context
	at     time.Time
	number int64
	id     string
	finish chan error // has the function return; without that it does when its context ends
}

// start makes a candidate that goes on until the test ends.
func start(t *testing.T, c *election.Candidate) *runner {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &runner{make(chan lead, 100), make(chan error, 100), make(chan error, 1), stop}
	if c.Lost == nil {
		c.Lost = func(_ context.Context, err error) { r.lost <- err }
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r.ended <- c.Run(ctx, r.lead)
	}()
	t.Cleanup(func() {
		stop()
		<-gone
	})
	return r
}

func (r *runner) lead(ctx context.Context) error {
	l := lead{ctx: ctx, at: time.Now(), id: election.TermID(ctx), finish: make(chan error, 1)}
	if lock, ok := held.FromContext(ctx).(held.Fenced); ok {
		l.number = lock.Fence()
	}
	r.leads <- l
	select {
	case err := <-l.finish:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// patience is how long a test waits for what happens at once, or when a short lease is over.
const patience = time.Minute

// elected waits until it is.
func (r *runner) elected(t *testing.T) lead {
	t.Helper()
	return next(t, r.leads, "to be elected")
}

// next waits for a value.
func next[T any](t *testing.T, values <-chan T, what string) T {
	t.Helper()
	value, ok := check.Receive(values, patience)
	if !ok {
		t.Fatalf("it has waited in vain for %s", what)
	}
	return value
}

// candidate makes one on a world.
func candidate(w *world.World, metadata string, ttl time.Duration) *election.Candidate {
	return &election.Candidate{
		Client: w.Client, Key: w.Key("k"), TTL: ttl, Metadata: metadata, Logger: slog.New(slog.DiscardHandler),
	}
}

// inLine waits until so many stand in line.
func inLine(t *testing.T, w *world.World, n int) { t.Helper(); w.InLine(t, w.Key("k"), n) }

// leader reads who leads.
func leader(t *testing.T, w *world.World) election.Term {
	t.Helper()
	return check.Must[election.Term](t)(election.Leader(t.Context(), w.Key("k"), w.Client))
}
