package redislockgocron

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/held"
)

// ErrNotLeader says that this process does not lead, or not for certain. It is the error of [Elector.IsLeader], and the
// cause of a context of [Elector.Context] that has ended before it began.
var ErrNotLeader = errors.New("not the leader")

var (
	errClosed    = errors.New("the Elector is closed")
	errUndecided = errors.New("somebody else leads, or the election goes on")
	errUncertain = errors.New("the lease may be over")
)

// An Elector has one machine run all jobs: it is for [gocron.WithDistributedElector]. It is safe for concurrent use, and
// may serve several schedulers.
type Elector struct {
	candidate election.Candidate
	end       context.CancelFunc // of the candidacy
	done      chan struct{}      // closed when the candidacy is over

	mu   sync.Mutex
	term context.Context // in which this process leads, or has led last; nil: it does not
	why  error           // it does not; nil if it does
}

var _ gocron.Elector = (*Elector)(nil)

const (
	// longestPause is the longest pause between two candidacies, if the first could not go on.
	longestPause = 10 * time.Second
	// shortestPause is the pause between two candidacies if the first has ended without an error. Without it a
	// Client with terms that end at once would keep the processor busy.
	shortestPause = 10 * time.Millisecond
)

// NewElector makes this process a candidate in the background, until [Elector.Close]. It copies the Candidate. It
// returns at once: whether somebody leads is decided later. It refuses a Candidate that cannot work, because of its
// fields or because its Client is closed. It sends nothing for that, but the hooks of the Client are told of one Obtain
// with a context that has ended.
//
// If the candidacy ends by an error that does not pass by itself, such as a user without the rights, IsLeader has that
// error, the Logger of the Candidate is told, and the candidacy begins anew after the TTL, or 10 s if that is longer.
func NewElector(candidate election.Candidate) (*Elector, error) {
	switch {
	case candidate.Client == nil:
		return nil, errors.New("redislockgocron: the Candidate has no Client")
	case candidate.Key == "":
		return nil, fmt.Errorf("redislockgocron: %w", &redislock.InvalidError{Argument: "keys", Reason: "the Key of the Candidate is empty"})
	}
	if err := refusal(candidate); err != nil {
		return nil, fmt.Errorf("redislockgocron: %w", err)
	}
	ctx, end := context.WithCancel(context.Background())
	e := &Elector{candidate: candidate, end: end, done: make(chan struct{}), why: errUndecided}
	go e.run(ctx)
	return e, nil
}

// refusal is the Client's error for a Candidate that cannot work. Nothing is sent, because the context has ended
// before.
func refusal(candidate election.Candidate) error {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	asked := &overheard{client: candidate.Client}
	candidate.Client = asked
	_ = candidate.Run(over, func(context.Context) error { return nil })
	if errors.Is(asked.err, context.Canceled) {
		return nil
	}
	return asked.err
}

// An overheard Client keeps the answer of another Client. It elects nobody.
type overheard struct {
	client election.Client
	err    error
}

func (o *overheard) With(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options, _ func(context.Context) error) error {
	o.err = o.client.With(ctx, keys, ttl, opt, func(context.Context) error { return nil })
	return o.err
}

// run is a candidate until ctx ends.
func (e *Elector) run(ctx context.Context) {
	defer close(e.done)
	log := cmp.Or(e.candidate.Logger, slog.Default())
	for {
		err := e.candidate.Run(ctx, e.lead)
		if ctx.Err() != nil {
			e.leadsNot(errClosed)
			return
		}
		pause := shortestPause
		if err == nil { // the term has ended at the end of its lease, or a job has released the lock
			e.leadsNot(errUndecided)
		} else {
			e.leadsNot(err)
			log.WarnContext(ctx, "redislockgocron: candidacy begins anew", "key", e.candidate.Key, "error", err)
			pause = min(e.candidate.TTL, longestPause)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// lead takes note of the term, and returns when that has ended.
func (e *Elector) lead(ctx context.Context) error {
	e.mu.Lock()
	e.term, e.why = ctx, nil
	e.mu.Unlock()
	<-ctx.Done()
	return nil
}

// leadsNot takes note of why this process does not lead.
func (e *Elector) leadsNot(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term, e.why = nil, why
}

// leads returns the context of the term, if this process leads for certain.
func (e *Elector) leads() (context.Context, error) {
	e.mu.Lock()
	term, why := e.term, e.why
	e.mu.Unlock()
	switch {
	case term == nil:
	case term.Err() != nil:
		why = context.Cause(term)
	case isOver(held.FromContext(term)):
		why = errUncertain
	default:
		return term, nil
	}
	return nil, fmt.Errorf("redislockgocron: %w: %w", ErrNotLeader, why)
}

// isOver reports whether a lock is not certain any more, by either clock: the monotonic clock stops while a machine
// sleeps, and the wall clock may be set back. A process that was stopped may ask before its context has ended.
func isOver(lock held.Lock) bool {
	if lock == nil {
		return true
	}
	now, deadline := time.Now(), lock.Deadline()
	return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))
}

// IsLeader returns nil if this process leads at this moment: neither its term nor its lease has ended, whatever Redis
// would say. Otherwise the error is an [ErrNotLeader], which says why, also before the first election was decided and
// after Close. If ctx has ended the error is the cause of ctx. IsLeader asks nobody and does not wait.
//
// gocron calls it before each run. If there is an error gocron does not run the job, counts [gocron.Skip], and goes on
// with the next tick.
func (e *Elector) IsLeader(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("redislockgocron: %w", context.Cause(ctx))
	}
	_, err := e.leads()
	return err
}

// Context returns a context for one run of a job, which the job calls with its own context:
//
//	func report(ctx context.Context) error {
//		ctx, cancel := elector.Context(ctx)
//		defer cancel()
//		…
//
// It is cancelled when this process leads no longer: with cause [redislock.ErrLockLost] if the leadership is lost, no
// later than others can have it, and after Close. [redislock.FromContext] finds the lock of the leader in it, and so
// the fencing number of the term. If this process does not lead, the context has ended already, with an [ErrNotLeader].
//
// The Elector keeps the context until cancel is called or the term ends.
func (e *Elector) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	term, err := e.leads()
	if err != nil {
		ctx, end := context.WithCancelCause(ctx)
		end(err)
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(redislock.WithCaller(ctx, election.TermID(term)))
	return held.FromContext(term).Context(ctx), cancel
}

// Close ends the candidacy, and waits until it is over; if this process leads, it resigns, and the next candidate
// leads at once. From then on IsLeader returns an error. It may be called more than once.
//
// Close does not wait for jobs. So shut the schedulers down first: a job that still runs when the next leader begins
// may run there at the same time. A context of [Elector.Context] ends.
func (e *Elector) Close() {
	e.end()
	<-e.done
}
