package redislockotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-14de3678/redislock"
)

// The attributes that only spans have.
const (
	attemptsKey = attribute.Key("redislock.lock.attempts")
	keysKey     = attribute.Key("redislock.lock.keys")
	fenceKey    = attribute.Key("redislock.lock.fence")
	keptKey     = attribute.Key("redislock.lock.kept")
	outcomeKey  = attribute.Key("redislock.lock.outcome")
)

// How a lock has ended.
const (
	outcomeReleased = "released"
	outcomeLost     = "lost"
	outcomeExpired  = "expired"
)

// waitSpan makes the span of the waiting of an Obtain, and ends it. It returns a context with that span, to which an
// exemplar can point.
func (o *observer) waitSpan(ctx context.Context, s *series, e *redislock.Event, kind string) context.Context {
	at := time.Now()
	began := trace.WithTimestamp(at.Add(-e.Duration))
	within, span := o.tracer.Start(ctx, s.waitName, s.start[0], began)
	if !span.IsRecording() {
		return ctx
	}
	o.describe(span, e)
	o.fail(span, e.Err, kind)
	span.End(trace.WithTimestamp(at))
	return within
}

// holdSpan begins the span of a lock; nil if it is not recorded.
func (o *observer) holdSpan(ctx context.Context, s *series, e *redislock.Event) trace.Span {
	_, span := o.tracer.Start(ctx, s.holdName, s.start...)
	if !span.IsRecording() {
		return nil
	}
	o.describe(span, e)
	if e.Fence != 0 {
		span.SetAttributes(fenceKey.Int64(e.Fence))
	}
	return span
}

// endSpan ends the span of a lock. It returns a context with that span, to which an exemplar can point.
func (o *observer) endSpan(ctx context.Context, h *hold, e *redislock.Event, how end) context.Context {
	if h.span == nil {
		return ctx
	}
	outcome := outcomeReleased
	if how.lost {
		outcome = outcomeLost
	}
	h.span.SetAttributes(outcomeKey.String(outcome))
	if e.Fence != 0 {
		h.span.SetAttributes(fenceKey.Int64(e.Fence)) // RaiseFence may have changed it
	}
	if e.Kept > 0 {
		h.span.SetAttributes(keptKey.Float64(e.Kept.Seconds()))
	}
	o.fail(h.span, e.Err, how.kind)
	h.span.End()
	return trace.ContextWithSpan(ctx, h.span)
}

// forget ends the spans of locks that have ended by themselves, at the end of their leases. That is no error: some
// locks end so on purpose.
func (o *observer) forget(gone []*hold) {
	for _, h := range gone {
		if h.span != nil {
			h.span.SetAttributes(outcomeKey.String(outcomeExpired))
			h.span.End(trace.WithTimestamp(h.expires))
		}
	}
}

// describe says what a span is about.
func (o *observer) describe(span trace.Span, e *redislock.Event) {
	span.SetAttributes(attemptsKey.Int(e.Attempts))
	if o.showsKeys {
		keys := make([]string, len(e.Keys))
		for i, key := range e.Keys {
			keys[i] = legible(key)
		}
		span.SetAttributes(keysKey.StringSlice(keys))
	}
}

// fail marks a span as failed, if there is an error. The text of the error names keys.
func (o *observer) fail(span trace.Span, err error, kind string) {
	if kind == "" {
		return
	}
	text := kind
	if o.showsKeys && err != nil {
		text = legible(err.Error())
	}
	span.SetAttributes(errorKey.String(kind))
	span.SetStatus(codes.Error, text)
}

// isAttached reports whether an event is about a handle that Attach has made.
func isAttached(e *redislock.Event) bool { return e.Way == "" }
