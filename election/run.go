package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// Run stands in line for the key, runs fn when its turn has come, and resigns when fn returns. It returns the error
// of fn.
//
// While fn runs the lease is renewed. If the lock is lost all the same, the context of fn is cancelled with cause
// [redislock.ErrLockLost], no later than at the Deadline of the lock; fn has to return soon then. Then Run calls
// Candidate.Lost, and stands in line once more: then fn runs again, in another term. The same happens if Run finds out
// only when it resigns that the lock was lost. If ctx ends, the context of fn ends, too; Run waits for fn, resigns, and
// returns the error of fn. If the lock was lost meanwhile, the error is joined with a [redislock.ErrLockLost].
//
// Before it is elected Run ends if ctx ends, with an error that matches the cause of ctx. It also ends by an error that
// does not pass by itself: arguments that are refused, before anything is sent; a Client that is closed or cannot do
// what the Candidate asks for; a user without the rights; a key that holds something else than a lock and has no TTL,
// which is a [*redislock.ConflictError] with [redislock.ModeForeign]. As long as Redis cannot be reached, does not
// answer, or is not ready, Run asks again.
//
// A resignation that could not be confirmed is logged and goes on in the background; the next candidate leads when the
// lease is over at the latest. A panic of fn resigns, and passes through Run. Run leaves no goroutine. The id of the
// term replaces a caller's id in ctx ([redislock.WithCaller]).
func (c *Candidate) Run(ctx context.Context, fn func(context.Context) error) error {
	switch {
	case c == nil || c.Client == nil:
		return errNoClient
	case isOwner(c.Client):
		return errIsOwner
	case fn == nil:
		return errNoFunction
	case c.RetryStrategy != nil && c.RetryStrategy() == nil:
		return errNoBackOff
	}
	r := run{Candidate: c, fn: fn, log: c.Logger}
	if r.log == nil {
		r.log = slog.Default()
	}
	strategy := endless(c.RetryStrategy)
	r.options = redislock.Options{
		Metadata: c.Metadata, Name: c.Name, Fenced: true, RetryStrategy: strategy,
	}
	if r.options.Metadata == "" {
		r.options.Metadata = redislock.InstanceMetadata()
	}
	r.pace = strategy()
	for {
		if over, err := r.term(ctx); over {
			return err
		}
	}
}

// A run is one Run under way. One goroutine uses it.
type run struct {
	*Candidate
	fn      func(context.Context) error
	log     *slog.Logger
	options redislock.Options
	pace    redislock.BackOff // from one term to the next
	polls   bool              // the Client cannot stand in line
	failing bool              // it was not elected since that was logged
}

// longTerm is how long a term has to last so that after its loss the candidate stands in line again at once.
const longTerm = time.Second

// term is a candidate once, and leads once. It reports whether Run is done.
func (r *run) term(ctx context.Context) (over bool, err error) {
	t := term{run: r, ctx: ctx}
	err = t.stand(inctx.Candidate(redislock.WithCaller(ctx, owners.NewCaller()), true))
	switch {
	case t.led && !t.lost:
		return true, err
	case t.led:
		r.tellLoss(ctx, err)
		if ctx.Err() != nil {
			return true, err
		}
		if time.Since(t.since) >= longTerm {
			r.pace = r.options.RetryStrategy()
			return false, nil
		}
	case ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)):
		return true, fmt.Errorf("election: %w: %w", context.Cause(ctx), err) // both at the same moment
	case ctx.Err() != nil || t.foreign || !passes(err):
		return true, fmt.Errorf("election: %w", err)
	default:
		r.asksAgain(ctx, err)
	}
	pace.Sleep(ctx, r.pace.NextBackOff())
	return false, nil
}

// A term is how far one term is.
type term struct {
	*run
	ctx   context.Context // of the Run
	led   bool            // fn was run
	lost  bool            // and the lock was lost before fn returned
	since time.Time       // it leads

	foreign bool // the key is no lock
}

// stand waits for its turn, and leads.
func (t *term) stand(ctx context.Context) error {
	once := t.options
	once.RetryStrategy = nil
	err := t.with(ctx, &once) // finds a key that is no lock: in line Run would wait for it for ever
	if t.led || ctx.Err() != nil {
		return err
	}
	tells := t.telling(ctx, err)
	queued := tells
	queued.Queue = true
	if t.foreign = isForeign(err) && t.couldStand(ctx, &queued); t.foreign {
		return err // of several servers others may still elect, but nobody can stand in line there
	}
	if !t.polls {
		err = t.with(ctx, &queued)
		if t.led || !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		t.polls = true
	}
	return t.with(ctx, &tells)
}

// telling returns the options of an Obtain that asks again. It logs that before the first time, because the Obtain says
// nothing as long as it goes on. A candidate that was refused just waits for its turn.
func (t *term) telling(ctx context.Context, failed error) redislock.Options {
	options := t.options
	if _, refused := errors.AsType[*redislock.ConflictError](failed); !refused {
		options.RetryStrategy = func() redislock.BackOff {
			return &tellingBackOff{t.options.RetryStrategy(), func() { t.asksAgain(ctx, failed) }}
		}
	}
	return options
}

// couldStand reports whether the Client can stand in line, without sending anything.
func (t *term) couldStand(ctx context.Context, queued *redislock.Options) bool {
	over, cancel := context.WithCancel(ctx)
	cancel()
	return !errors.Is(t.with(over, queued), errors.ErrUnsupported)
}

func (t *term) with(ctx context.Context, opt *redislock.Options) error {
	return t.Client.With(ctx, []string{t.Key}, t.TTL, opt, t.lead)
}

// lead runs fn, and resigns.
func (t *term) lead(ctx context.Context) error {
	t.led, t.since, t.failing = true, time.Now(), false
	err := t.fn(inctx.Candidate(ctx, false))
	if t.lost = isLoss(ctx) && !isLoss(t.ctx); t.lost {
		return err
	}
	if lock := held.FromContext(ctx); lock != nil {
		t.resign(ctx, lock)
	}
	return err
}

// resign releases the lock. With would do so, too, but would not tell whether that is confirmed. If it is not, With
// tries once more, and With reports a loss that the Release finds. If fn has released the lock, or ctx has ended, the
// context of fn has ended before.
func (t *term) resign(led context.Context, lock held.Lock) {
	leads := led.Err() == nil
	switch err := lock.Release(t.ctx); {
	case errors.Is(err, redislock.ErrLockNotHeld):
		t.lost = leads
	case err != nil:
		t.log.WarnContext(t.ctx, "election: resignation not confirmed", "key", t.Key, "error", err)
	}
}

// isLoss reports whether a context has ended because a lock was lost. The ctx of Run may be the context of another
// lock.
func isLoss(ctx context.Context) bool { return errors.Is(context.Cause(ctx), redislock.ErrLockLost) }

// asksAgain logs the first of several failures.
func (r *run) asksAgain(ctx context.Context, failed error) {
	if !r.failing {
		r.failing = true
		r.log.WarnContext(ctx, "election: candidate asks again", "key", r.Key, "error", failed)
	}
}

func (r *run) tellLoss(ctx context.Context, err error) {
	if r.Lost != nil {
		r.Lost(ctx, err)
		return
	}
	r.log.WarnContext(ctx, "election: lost", "key", r.Key, "error", err)
}

// isOwner reports whether locks of a Client are held under one token.
func isOwner(c Client) bool {
	_, is := c.(redislock.Owner)
	return is
}

// isForeign reports whether the key holds something that is no lock and does not end by itself.
func isForeign(err error) bool {
	conflict, ok := errors.AsType[*redislock.ConflictError](err)
	return ok && conflict.Mode == redislock.ModeForeign && conflict.TTL < 0
}

// passes reports whether the error of an Obtain may pass soon. An Obtain without a limit asks again by itself after
// most errors that pass, so nearly all errors that it returns do not pass.
func passes(err error) bool {
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrUnknownOutcome) {
		return true
	}
	return redis.HasErrorPrefix(err, "OOM") || redis.HasErrorPrefix(err, "MISCONF")
}
