// Package redislockotel makes OpenTelemetry metrics and spans of what happens to locks.
//
//	hooks, err := redislockotel.Hooks()
//	if err != nil {
//		return err
//	}
//	client := redislock.New(rdb, redislock.WithHooks(hooks))
//
// The metrics say how many locks are held and waited for at the moment, for how long, how often locks
// are obtained, refused, released and lost, and what is wrong with the server. Their attributes are the
// name in [redislock.Options], the mode and the way of waiting, and never a key. There is a span for
// each Obtain that waits, and one for each lock while it is held; both are children of the span in the
// caller's context. The README of this module lists all of them, and says what to alert on.
//
// # What counts as held
//
// A lock is held from Obtained until the first event that ends it: a Release or a Leave, whatever comes
// of it, or a loss. [redislock.Lock.ReleaseKeys] ends nothing as long as keys are left. A lock counts in
// the mode in which it was obtained, whatever a Downgrade or an Upgrade makes of it.
//
// A lock without a watchdog that nobody releases ends by itself: it is not held any more once its lease is
// over. The hooks remember it for as long again, but at most for a minute, because somebody may release it
// late. Then it counts as expired, and is forgotten.
//
// A handle that Attach has made does not count as held, because the Lock that was obtained does. If such
// a handle releases or loses the lock, that is counted without a name and a way.
package redislockotel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/seed-14de3678/redislock"
)

// The instrumentation scope of all metrics and spans.
const (
	scope   = "github.com/seed-14de3678/redislock/redislockotel"
	version = "0.1.0"
)

// Hooks makes the instruments, and returns hooks that use them. One call is enough for a program: the hooks
// serve any number of Clients, also of packages quorum and multi. The Clients of the nodes of a quorum, or
// of the parts of a multi, tell of each node and part by itself. So give these no hooks, or other hooks
// with [WithAttributes].
//
// The hooks are safe for concurrent use. They never wait for anything but one another. If you have
// other hooks, put these first: redislock.WithHooks(hooks, others). Otherwise they do not learn of an
// event if another hook panics.
//
// The error comes from a provider of metrics that refuses an instrument. Then there are no hooks.
func Hooks(opts ...Option) (redislock.Hooks, error) {
	o, err := newObserver(newConfig(opts))
	if err != nil {
		return redislock.Hooks{}, fmt.Errorf("redislockotel: %w", err)
	}
	return o.hooks(), nil
}

// An observer is what the hooks share.
type observer struct {
	instruments
	ledger    *ledger
	tracer    trace.Tracer
	showsKeys bool
}

func newObserver(c *config) (*observer, error) {
	o := &observer{ledger: newLedger(c.attributes), tracer: c.tracer(), showsKeys: c.keys}
	return o, o.create(c.meter())
}

func (o *observer) hooks() redislock.Hooks {
	return redislock.Hooks{
		Obtained: o.obtained, Refused: o.refused,
		Waiting: o.waiting, Waited: o.waited,
		Refreshed: o.refreshed, Lost: o.lost, Released: o.released,
	}
}

func (o *observer) waiting(_ context.Context, e redislock.Event) { o.ledger.wait(&e) }

func (o *observer) waited(ctx context.Context, e redislock.Event) {
	s, kind := o.ledger.waited(&e), ""
	if e.Err != nil {
		kind = errorType(ctx, e.Err)
	}
	ctx = o.waitSpan(ctx, s, &e, kind)
	o.waits.Record(ctx, e.Duration.Seconds(), o.ledger.measured(s, kind).record...)
}

func (o *observer) obtained(ctx context.Context, e redislock.Event) {
	s := o.ledger.seriesOf(&e)
	first, gone := o.ledger.hold(&e, s, o.holdSpan(ctx, s, &e))
	o.forget(gone)
	if first {
		o.startLosses(ctx, s)
	}
	o.obtains.Add(ctx, 1, s.plain.add...)
}

// startLosses makes each kind of loss begin with 0. Otherwise the first loss would begin a time series with 1, and
// nobody would see an increase.
func (o *observer) startLosses(ctx context.Context, s *series) {
	for _, kind := range lossTypes {
		o.losses.Add(ctx, 0, o.ledger.measured(s, kind).add...)
	}
}

func (o *observer) refused(ctx context.Context, e redislock.Event) {
	kind := errorType(ctx, e.Err)
	s := o.ledger.seriesOf(&e)
	o.refusals.Add(ctx, 1, o.ledger.measured(s, kind).add...)
	o.failed(ctx, obtaining, e.Err, kind)
}

func (o *observer) refreshed(ctx context.Context, e redislock.Event) {
	if e.Err != nil {
		o.failed(ctx, refreshing, e.Err, errorType(ctx, e.Err))
	}
	o.forget(o.ledger.refresh(&e))
}

func (o *observer) lost(ctx context.Context, e redislock.Event) {
	o.ended(ctx, &e, end{lost: true, kind: lossType(e.Err), counts: isAttached(&e)})
}

func (o *observer) released(ctx context.Context, e redislock.Event) {
	kind := ""
	if e.Err != nil {
		kind = errorType(ctx, e.Err)
		o.failed(ctx, releasing, e.Err, kind)
	}
	if e.Ended {
		// A failed Release by an attached handle is perhaps not the first one.
		o.ended(ctx, &e, end{lost: isLoss(e.Err), kind: kind, counts: isAttached(&e) && e.Err == nil})
	}
}

// An end says how a lock has ended.
type end struct {
	lost   bool
	kind   string // the type of the error; empty if there is none
	counts bool   // also if the hooks were not told of the lock
}

// ended counts the end of a lock, if it is the first one.
func (o *observer) ended(ctx context.Context, e *redislock.Event, how end) {
	h, gone := o.ledger.end(e)
	o.forget(gone)
	var s *series
	switch {
	case h != nil:
		if s = h.series; h.over && how.lost {
			how.kind = typeExpired
		}
		ctx = o.endSpan(ctx, h, e, how)
		o.holds.Record(ctx, e.Held.Seconds(), o.ledger.measured(s, how.kind).record...)
	case how.counts:
		s = o.ledger.seriesOf(e)
	default:
		return
	}
	count := o.releases
	if how.lost {
		count = o.losses
	}
	count.Add(ctx, 1, o.ledger.measured(s, how.kind).add...)
}
