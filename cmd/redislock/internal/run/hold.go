package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A hold is the lock, and what is heard of it.
type hold struct {
	*redislock.Lock
	client  *redislock.Client
	renewed chan struct{} // has a value when the lease was extended
	lost    chan error    // has the reason when it was lost
	failed  atomic.Value  // why the last renewal that failed did not count, as text
}

// open connects to Redis, unless a signal comes before. The connection ends with the process: to close it may take long if Redis does
// not answer.
func (s *settings) open(ctx context.Context, signals <-chan os.Signal) (conn *cli.Conn, err error) {
	interrupted := untilSignal(ctx, signals, func(ctx context.Context) { conn, err = s.redis.Open(ctx) })
	return conn, cmp.Or(interrupted, err)
}

// obtain obtains the lock, unless a signal comes before.
func (s *settings) obtain(ctx context.Context, conn *cli.Conn, signals <-chan os.Signal, tell *teller) (h *hold, err error) {
	h = &hold{renewed: make(chan struct{}, 1), lost: make(chan error, 1)}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	h.client = conn.Client(redislock.WithMaxKeys(mostKeys), redislock.WithBreakNotices(), redislock.WithHooks(redislock.Hooks{
		Waiting: func(_ context.Context, e redislock.Event) {
			switch {
			case cli.IsForeign(e.Err):
				giveUp(e.Err) // no lease ends it
			case tell.live:
				tell.say("redislock run: waiting: %s\n", plain(e.Err))
			}
		},
		Refreshed: h.noteRenewal,
		Lost:      func(_ context.Context, e redislock.Event) { h.lost <- e.Err },
	}))
	began := time.Now()
	interrupted := untilSignal(ctx, signals, func(ctx context.Context) {
		set := redislock.Set{Write: s.keys}
		if s.read {
			set = redislock.Set{Read: s.keys}
		}
		h.Lock, err = h.client.ObtainSet(ctx, set, s.ttl, s.options(began))
	})
	if interrupted == nil && err == nil {
		return h, nil
	}
	ending, cancel := untilUrged(s.ttl, signals, interrupted != nil, tell)
	defer cancel()
	_ = h.end(ending, err == nil) // what stays locked ends with its ttl
	if interrupted != nil {
		return nil, interrupted
	}
	if cause := context.Cause(ctx); cli.IsForeign(cause) {
		err = cause
	}
	return nil, s.refusal(err)
}

func (s *settings) options(began time.Time) *redislock.Options {
	return &redislock.Options{
		Watchdog:    true,
		Metadata:    metadata(s.name, s.path, began),
		Queue:       !s.once,
		Wait:        s.wait,
		Fenced:      !s.noFence,
		HoldAtLeast: s.atLeast,
	}
}

// noteRenewal is called by the library, which it must not keep waiting.
func (h *hold) noteRenewal(_ context.Context, e redislock.Event) {
	if e.Err != nil {
		h.failed.Store(plain(e.Err))
		return
	}
	select {
	case h.renewed <- struct{}{}:
	default:
	}
}

// why is what was wrong with the last renewal that failed, empty if none has.
func (h *hold) why() string {
	text, _ := h.failed.Load().(string)
	return text
}

// untilSignal calls fn with a context that ends when a signal comes which ends processes. It returns the error for that.
func untilSignal(ctx context.Context, signals <-chan os.Signal, fn func(context.Context)) (interrupted error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fn(ctx)
	}()
	for {
		select {
		case <-ended:
			return interrupted
		case sig := <-signals:
			if number := endsProcess(sig); number > 0 && interrupted == nil {
				interrupted = cli.Exit(128+number, fmt.Errorf("%v: the command was not run", sig))
				cancel()
			}
		}
	}
}

// refusal gives the error of an Obtain an exit status.
func (s *settings) refusal(err error) error {
	conflict, isConflict := errors.AsType[*redislock.ConflictError](err)
	within := ""
	if s.wait > 0 {
		within = fmt.Sprintf(" within %s", s.wait)
	}
	switch {
	case cli.IsForeign(err):
		return cli.Exit(cli.NoLock, errors.New(plain(conflict)))
	case isConflict:
		return cli.Exit(s.busy, fmt.Errorf("not obtained%s: %s", within, plain(conflict)))
	case errors.Is(err, redislock.ErrNotObtained):
		return cli.Exit(s.busy, errors.New(plain(err)))
	case errors.Is(err, redislock.ErrWaitOver):
		return cli.Exit(cli.Unavailable, err)
	case errors.Is(err, redislock.ErrInvalid), errors.Is(err, redislock.ErrCrossSlot):
		return cli.UsageError(plain(err))
	}
	return err
}

// plain is the text of an error of the library without the name of the library in front.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "redislock: ") }

// releasePatience is how long the keys may take to be freed.
const releasePatience = 10 * time.Second

// untilUrged returns a context for what is done at the end. It ends with the lease, which frees the keys as well, after
// releasePatience at the latest, and with the second signal that ends processes; with the first if one has come before.
func untilUrged(lease time.Duration, signals <-chan os.Signal, urged bool, tell *teller) (context.Context, context.CancelFunc) {
	ctx, giveUp := context.WithCancelCause(context.Background())
	ctx, cancel := context.WithTimeout(ctx, min(lease, releasePatience))
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case sig := <-signals:
				switch {
				case endsProcess(sig) == 0:
				case urged:
					giveUp(fmt.Errorf("signal: %v", sig))
				default:
					urged = true
					tell.say("redislock run: the keys are being released; one more signal ends that\n")
				}
			}
		}
	}()
	return ctx, cancel
}

// end frees the keys, if free says so, and takes back what an Obtain may have left. It returns when ctx ends, even if Redis
// does not answer.
func (h *hold) end(ctx context.Context, free bool) error {
	freed, closed := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(closed)
		var err error
		if free {
			err = h.Release(ctx)
		}
		freed <- err
		h.client.Close() // tries once more, if it is not known whether they are free
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
	return <-freed // a Release ends with its context
}
